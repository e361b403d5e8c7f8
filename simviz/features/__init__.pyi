from ._defaults import default_features as default_features, why_impossible as why_impossible
from ._rows import empty_share as empty_share
from .hashed import HashedText as HashedText
from .images import ImageDescriptor as ImageDescriptor
from .keywords import MultiHot as MultiHot
from .pretrained import PretrainedText as PretrainedText
from .pretrained_images import PretrainedImages as PretrainedImages
from .sequences import Characters as Characters
from .text import TextCounts as TextCounts, Tfidf as Tfidf
from .trigrams import Trigrams as Trigrams
from .vectors import Vectors as Vectors
