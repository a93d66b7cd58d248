"""The file format: named arrays and a manifest of plain values. Loading executes no code."""

from condrank.persistence.layout import read_file, write_file

__all__ = ["read_file", "write_file"]
