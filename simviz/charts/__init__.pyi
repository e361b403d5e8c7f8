from .curves import (
    DimensionCurve as DimensionCurve,
    dimension_figure as dimension_figure,
    dimension_records as dimension_records,
)
from .drawing import Drawing as Drawing, draw as draw
from .roc import RocCurve as RocCurve, roc_figure as roc_figure, roc_records as roc_records
from .style import (
    DARK as DARK,
    LIGHT as LIGHT,
    MethodStyle as MethodStyle,
    Theme as Theme,
    apply_theme as apply_theme,
    method_style as method_style,
)
