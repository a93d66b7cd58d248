"""The names at the top of the package."""

from types import ModuleType

import pytest

import condrank


@pytest.mark.parametrize("name", ["plots", "index", "distributed", "parquet", "exceptions"])
def test_modules_are_attributes_of_the_package(name):
    assert isinstance(getattr(condrank, name), ModuleType)
    assert name in dir(condrank)


def test_warnings_can_be_imported_from_the_package():
    assert issubclass(condrank.RelationWarning, condrank.CondrankWarning)
    assert issubclass(condrank.KernelWarning, condrank.CondrankWarning)
