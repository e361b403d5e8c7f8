from . import (
    base as base,
    charts as charts,
    data as data,
    datasets as datasets,
    evaluation as evaluation,
    explain as explain,
    exports as exports,
    features as features,
    methods as methods,
    pipeline as pipeline,
    projection as projection,
    ranking as ranking,
    scale as scale,
)
from .charts import Drawing as Drawing, draw as draw
from .comparison import (
    Blended as Blended,
    Result as Result,
    blend as blend,
    compare as compare,
)
from .data import (
    Items as Items,
    PairSet as PairSet,
    from_frame as from_frame,
    read_collection as read_collection,
    read_pairs as read_pairs,
    split as split,
    write_pairs as write_pairs,
)
from .datasets import load_demo as load_demo
from .evaluation import (
    PopularityScorer as PopularityScorer,
    WhatIf as WhatIf,
    audit as audit,
    choose_threshold as choose_threshold,
    confidence_interval as confidence_interval,
    csls as csls,
    evaluate as evaluate,
    metric as metric,
    read_run as read_run,
    tune as tune,
)
from .exports import (
    dense_modules as dense_modules,
    model_page as model_page,
    numpy_files as numpy_files,
    onnx_graphs as onnx_graphs,
)
from .features import Tfidf as Tfidf
from .methods import (
    all_methods as all_methods,
    get_method as get_method,
    register_method as register_method,
)
from .pipeline import (
    BlendPipeline as BlendPipeline,
    CSLSPipeline as CSLSPipeline,
    ItemIndex as ItemIndex,
    PairPipeline as PairPipeline,
    default_pipeline as default_pipeline,
    load_index as load_index,
    load_pipeline as load_pipeline,
)
from .projection import joint_map as joint_map
from .relevance import Relevance as Relevance

__version__: str
