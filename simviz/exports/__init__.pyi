from .html import model_page as model_page
from .linear import (
    dense_modules as dense_modules,
    numpy_files as numpy_files,
    onnx_graphs as onnx_graphs,
    why_not as why_not,
)
