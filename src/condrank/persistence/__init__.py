"""Fitted rankers as files of plain arrays: loading executes nothing, and saving is all or nothing."""

from condrank.persistence.layout import read_file, write_file
from condrank.persistence.saving import Saved

__all__ = ["Saved", "read_file", "write_file"]
