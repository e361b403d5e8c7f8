from ._base import empty_share as empty_share
from ._defaults import default_features as default_features, why_impossible as why_impossible
from .hashed import HashedText as HashedText
from .images import ImageDescriptor as ImageDescriptor
from .keywords import MultiHot as MultiHot
from .pretrained import PretrainedImages as PretrainedImages, PretrainedText as PretrainedText
from .sequences import Characters as Characters, Trigrams as Trigrams
from .text import TextCounts as TextCounts, Tfidf as Tfidf
from .vectors import Vectors as Vectors
