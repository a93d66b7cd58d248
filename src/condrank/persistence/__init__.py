"""Fitted rankers as files of plain arrays: nothing is executed on loading, and a save is all or nothing."""

from condrank.persistence.layout import read_file, write_file
from condrank.persistence.saving import Saved

__all__ = ["Saved", "read_file", "write_file"]
