"""Ratings of films: the published files, with and without a line of names."""

import numpy as np
import pytest

from condrank import datasets

GENRES = "|".join("1" if number == 5 else "0" for number in range(19))
RATINGS = [("7", "30", "5", "881250949"), ("9", "10", "2", "881250950"), ("7", "10", "3", "881250951")]
USERS = ["7|24|M|technician|85711", "9|53|F|other|94043"]
FILMS = [f"10|Toy Story (1995)|01-Jan-1995||http://example|{GENRES}", f"30|Unknown|||http://example|{GENRES}"]


def write(folder, separator, names):
    (folder / "ml100k").mkdir()
    texts = {"u.data": [separator.join(row) for row in RATINGS], "u.user": USERS, "u.item": FILMS}
    for name, lines in texts.items():
        lines = ["some|names", *lines] if names else lines
        (folder / "ml100k" / name).write_text("\n".join(lines) + "\n", encoding="latin-1")


@pytest.mark.parametrize(("separator", "names"), [("\t", False), ("|", True)])
def test_ratings_are_edges_from_users_to_films(separator, names, tmp_path):
    write(tmp_path, separator, names)
    bunch = datasets.load_movielens(data_home=tmp_path)
    np.testing.assert_array_equal(bunch.graph.to_dense(), [[3, 5], [2, np.nan]])
    assert (list(bunch.graph.ids), list(bunch.film_ids)) == (["7", "9"], ["10", "30"])
    np.testing.assert_array_equal(bunch.X_user, [[2.4, 0, 0, 1], [5.3, 1, 1, 0]])
    assert list(bunch.user_features) == ["age", "female", "other", "technician"]
    # A film without a year has the median of the others.
    np.testing.assert_array_equal(bunch.X_film[:, 0], [9.5, 9.5])
    np.testing.assert_array_equal(bunch.X_film[:, 1:].argmax(axis=1), [5, 5])
    np.testing.assert_array_equal([bunch.rows, bunch.columns], [[0, 1, 0], [1, 0, 0]])


def test_a_row_of_another_width_is_refused(tmp_path):
    write(tmp_path, "\t", False)
    (tmp_path / "ml100k/u.user").write_text("7|24|M\n")
    with pytest.raises(ValueError, match=r"u\.user' must have rows of 5 columns, got 3"):
        datasets.load_movielens(data_home=tmp_path)
