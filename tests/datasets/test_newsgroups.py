"""20 Newsgroups: from files, from a download, and which newsgroups may be chosen."""

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse
from sklearn.utils import Bunch

from condrank import datasets
from stored_files import GROUPS, level_matrix, newsgroups_arrays


def test_newsgroups_are_read_from_files(write, tmp_path, monkeypatch):
    counts, labels = newsgroups_arrays()
    write("20newsgroups/labels.npz", **labels)
    sparse.save_npz(tmp_path / "20newsgroups/counts_csr.npz", counts)
    bunch = datasets.load_newsgroups(GROUPS[1:], data_home=tmp_path)
    np.testing.assert_array_equal(bunch.X.toarray(), counts.toarray()[3:])
    assert bunch.X.dtype == np.float64
    levels = [("acr".index(GROUPS[group][0]), group) for group in labels["label"][3:]]
    np.testing.assert_array_equal(bunch.graph.to_dense(), level_matrix(levels))
    assert bunch.ids[0] == "comp.graphics/103"
    assert bunch.is_test.sum() == 4
    assert list(bunch.topic_names) == ["alt", "comp", "rec"]
    monkeypatch.setenv("CONDRANK_DATA", str(tmp_path))
    assert datasets.load_newsgroups("all").graph.n_nodes == 15
    with pytest.raises(ValueError, match=r"groups must be names of newsgroups out of .* got \['rec.boats'\]"):
        datasets.load_newsgroups(["rec.autos", "rec.boats"])


@pytest.mark.parametrize("groups", ["set3", "", []])
def test_newsgroups_refuse_unknown_groups_before_reading(groups):
    with pytest.raises(ValueError, match="groups must be 'set1', 'set2', 'all' or names of newsgroups"):
        datasets.load_newsgroups(groups)


def test_the_two_sets_of_the_paper_share_no_group():
    sets = datasets.newsgroups.NEWSGROUP_SETS
    assert len(sets["set1"]) == 4
    assert len(sets["set2"]) == 5
    assert not set(sets["set1"]) & set(sets["set2"])
    assert {name.split(".")[0] for names in sets.values() for name in names} == {"rec", "comp"}


def test_newsgroups_are_downloaded_if_there_are_no_files(monkeypatch, tmp_path):
    posts = {
        "train": [
            (2, "9", "From: a\nSubject: Cars\n\nA car, two CARS x."),
            (1, "12", "Subject: re: pixels\nFrom: sender\n\npixels and cars\n\ncars"),
        ],
        "test": [(1, "3", "Subject: none\n\npixels2cars sender"), (0, "5", "\n\nnothing")],
    }

    def fetch(subset, shuffle):
        assert not shuffle
        target, numbers, data = zip(*posts[subset], strict=True)
        names = np.array([f"some\\folder/20news/{number}" for number in numbers])
        return Bunch(
            data=list(data),
            target=np.array(target),
            filenames=names,
            target_names=["alt.x", "comp.y", "rec.z"],
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", fetch)
    monkeypatch.setenv("CONDRANK_DATA", str(tmp_path))  # has no such folder
    bunch = datasets.load_newsgroups("all")
    assert list(bunch.ids) == ["alt.x/5", "comp.y/12", "comp.y/3", "rec.z/9"]
    assert list(bunch.is_test) == [True, False, True, False]
    # Words of two documents: cars, pixels. The sender in a header does not count, nor do single letters.
    np.testing.assert_array_equal(bunch.X.toarray(), [[0, 0], [2, 2], [1, 1], [2, 0]])
    np.testing.assert_array_equal(bunch.graph.to_dense(), [[2, 0, 0, 0], [0, 2, 2, 0], [0, 2, 2, 0], [0, 0, 0, 2]])


def test_an_error_that_is_no_failed_download_is_raised(monkeypatch):
    def broken(*args, **kwargs):
        raise TypeError("a bug, not a download")

    monkeypatch.delenv("CONDRANK_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", broken)
    with pytest.raises(TypeError, match="a bug"):
        datasets.load_newsgroups()
