"""20 Newsgroups, the documents of the paper: which newsgroup and which topic two documents share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import datasets as sklearn_datasets
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch

from condrank.datasets import files
from condrank.datasets.files import DataHome
from condrank.graph import RelationGraph

NEWSGROUP_SETS = {
    "set1": ("rec.autos", "rec.sport.baseball", "comp.sys.ibm.pc.hardware", "comp.windows.x"),
    "set2": (
        "rec.motorcycles",
        "rec.sport.hockey",
        "comp.graphics",
        "comp.os.ms-windows.misc",
        "comp.sys.mac.hardware",
    ),
}
_FILE, _WHAT = "20newsgroups/counts_csr.npz", "20 Newsgroups"
_WITHOUT_FILES = "Without it, condrank.datasets.make_digits_task makes a relation of the same kind."

Documents = tuple[sparse.csr_array, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def load_newsgroups(groups: str | Sequence[str] = "set1", *, data_home: DataHome = None) -> Bunch:
    """Documents of 20 Newsgroups: 2 for the same newsgroup, 1 for the same topic, 0 otherwise.

    The topic is the first word of a newsgroup's name: rec and comp in the two sets of the paper. The
    columns are the words of all 18,846 documents for every choice of groups, so that a model fitted on one
    choice can rank another.

    Parameters
    ----------
    groups : {"set1", "set2", "all"} or sequence of str, default="set1"
        "set1": rec.autos, rec.sport.baseball, comp.sys.ibm.pc.hardware, comp.windows.x (3,954 documents).
        "set2": rec.motorcycles, rec.sport.hockey, comp.graphics, comp.os.ms-windows.misc,
        comp.sys.mac.hardware (4,916 documents). "all": every newsgroup. Otherwise the names of newsgroups.
    data_home : path or None, default=None
        Folder with "20newsgroups"; None: the environment variable CONDRANK_DATA. If that is not set or has
        no such folder, :func:`sklearn.datasets.fetch_20newsgroups` downloads the documents and the same
        words are counted.

    Returns
    -------
    bunch : Bunch
        ``graph``; ``X``, word counts (n, 59349), CSR, float64; ``labels`` (n,), indices into
        ``group_names``; ``levels`` (n, 2), topic and group, as :meth:`RelationGraph.from_classes` takes
        them, to build the graph again on other features such as tf-idf; ``topic_names``; ``is_test`` (n,),
        the split by date; ``ids``; ``DESCR``.
    """
    _check_groups(groups)
    X, label, is_test, article, group_names = _newsgroups(data_home)
    names = [str(name) for name in group_names]
    chosen = _chosen_groups(groups, names)
    rows = np.flatnonzero(np.isin(label, [names.index(group) for group in chosen]))
    topic_names, topic = np.unique([name.partition(".")[0] for name in names], return_inverse=True)
    label = label[rows].astype(np.int64)
    levels = np.column_stack([topic[label], label])
    ids = np.array([f"{names[group]}/{number}" for group, number in zip(label, article[rows], strict=True)])
    X = sparse.csr_array(X[rows], dtype=np.float64)
    return Bunch(
        graph=RelationGraph.from_classes(X, levels, ids=ids),
        X=X,
        labels=label,
        levels=levels,
        group_names=group_names,
        topic_names=topic_names,
        is_test=is_test[rows],
        ids=ids,
        DESCR="20 Newsgroups, version by date (K. Lang 1995, J. Rennie): public Usenet posts without "
        "duplicates. Counts of lower-case words of 2 to 30 letters a-z in subject and body that "
        "occur in at least two of all 18,846 documents; not the vocabulary of the 'matlab' version. "
        "Relation: 2 same newsgroup, 1 same topic (first word of the name), 0 otherwise.",
    )


def _check_groups(groups: str | Sequence[str]) -> None:
    if (isinstance(groups, str) and groups not in (*NEWSGROUP_SETS, "all")) or len(groups) == 0:
        raise ValueError(f"groups must be 'set1', 'set2', 'all' or names of newsgroups, got {groups!r}")


def _chosen_groups(groups: str | Sequence[str], known: list[str]) -> list[str]:
    if isinstance(groups, str):
        groups = known if groups == "all" else NEWSGROUP_SETS[groups]
    strangers = [group for group in groups if group not in known]
    if strangers:
        raise ValueError(f"groups must be names of newsgroups out of {known}, got {strangers}")
    return list(groups)


def _newsgroups(data_home: DataHome) -> Documents:
    """Return counts, label, is_test and article number of each document, and the names of the newsgroups."""
    if not files.has_folder(_FILE, data_home):
        return _downloaded_newsgroups()
    path = files.find(_FILE, data_home, _WHAT, _WITHOUT_FILES)
    counts = files.read(path, "data", "indices", "indptr", "shape")
    path = files.find("20newsgroups/labels.npz", data_home, _WHAT, _WITHOUT_FILES)
    labels = files.read(path, "label", "is_test", "article", "group_names")
    X = sparse.csr_array((counts["data"], counts["indices"], counts["indptr"]), shape=tuple(counts["shape"]))
    return X, labels["label"], labels["is_test"], labels["article"], labels["group_names"]


def _downloaded_newsgroups() -> Documents:
    """Count the same words, in the same order of documents, from scikit-learn's copy of the texts."""
    try:
        parts: list[Any] = [
            sklearn_datasets.fetch_20newsgroups(subset=subset, shuffle=False) for subset in ("train", "test")
        ]
    except OSError as error:  # URLError is one
        reason = f"no files, and sklearn.datasets.fetch_20newsgroups could not download it ({error})"
        raise FileNotFoundError(files.missing(_FILE, _WHAT, reason, _WITHOUT_FILES)) from error
    texts = [_subject_and_body(text) for part in parts for text in part.data]
    label = np.concatenate([part.target for part in parts])
    is_test = np.repeat([False, True], [len(part.target) for part in parts])
    article = np.array([int(re.split(r"[/\\]", str(name))[-1]) for part in parts for name in part.filenames])
    counter = CountVectorizer(token_pattern=r"(?<![a-z])[a-z]{2,30}(?![a-z])", min_df=2)
    X = sparse.csr_array(counter.fit_transform(texts))
    order = np.lexsort([article, is_test, label])
    return X[order], label[order], is_test[order], article[order], np.array(parts[0].target_names)


def _subject_and_body(text: str) -> str:
    head, _, body = text.partition("\n\n")
    subject = [line[len("subject:") :] for line in head.split("\n") if line.lower().startswith("subject:")]
    return "\n".join([*subject, body])
