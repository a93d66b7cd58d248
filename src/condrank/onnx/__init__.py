"""Models as ONNX files, which run without Python and condrank (extra "onnx")."""

from condrank.onnx.exporting import export

__all__ = ["export"]
