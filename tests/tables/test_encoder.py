"""TableEncoder: columns of tables as features."""

import pytest

from condrank.tables import Table, TableEncoder


def test_words_of_one_letter_count():
    encoder = TableEncoder().fit(Table.read({"size": ["s", "m l"]}, text=["size"]))
    assert encoder.get_feature_names_out().tolist() == ["size:l", "size:m", "size:s"]
    with pytest.raises(ValueError, match="without any word; say that it is categorical="):
        TableEncoder().fit(Table.read({"size": ["+", "-"]}, text=["size"]))
