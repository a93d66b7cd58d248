"""Errors of unexpected contents name the file."""

from pathlib import Path

import pytest

from condrank.persistence.damage import damage_named


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (ValueError("W must be finite"), "^model.bin is not a complete condrank model: W must be finite$"),
        (KeyError("W"), "^model.bin is not a complete condrank model: KeyError 'W'$"),
        (TypeError("no list"), "^model.bin is not a complete condrank model: TypeError no list$"),
    ],
)
def test_errors_of_unexpected_contents_become_a_value_error_that_names_the_file(error, match):
    with pytest.raises(ValueError, match=match), damage_named(Path("model.bin"), "model"):
        raise error


def test_other_errors_pass():
    with pytest.raises(OSError, match="disk"), damage_named(Path("model.bin"), "model"):
        raise OSError("disk")
