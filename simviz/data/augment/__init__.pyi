from .base import GROUP_SEPARATOR as GROUP_SEPARATOR, Augmenter as Augmenter
from .steps import (
    Feedback as Feedback,
    augment as augment,
    from_json as from_json,
    to_json as to_json,
)
from .words import (
    InducedSynonyms as InducedSynonyms,
    ListedSynonyms as ListedSynonyms,
    MinedWords as MinedWords,
    SampledWords as SampledWords,
    Typos as Typos,
)
