from .linear import numpy_files as numpy_files, why_not as why_not
from .onnx import dense_modules as dense_modules, onnx_graphs as onnx_graphs
