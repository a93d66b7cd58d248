"""Kernel matrices read from files and frames."""

from __future__ import annotations

import numpy as np
import pytest

from builders import SMALL_KERNEL
from condrank import ConditionalRanker, RelationGraph
from condrank.tables import read_graph, read_kernel
from forms import LIBRARIES, make_frame


@pytest.mark.parametrize("form", ["bare", "header", "column", "both", "npy", "npz", "named", "array", *LIBRARIES])
def test_a_kernel_is_read_from_any_form(tmp_path, form):
    K = np.array([[2.0, 1, 0], [1, 3, 0.5], [0, 0.5, 1]])
    names, rows = ["10", "b", "c"], [",".join(map(str, row)) for row in K]
    header, column = ",".join(names), [f"{name},{row}" for name, row in zip(names, rows, strict=True)]
    texts = {"bare": rows, "header": [header, *rows], "column": column, "both": ["," + header, *column]}
    path, has_ids = tmp_path / "K.csv", form in ("header", "column", "both", "named", *LIBRARIES)
    if form in texts:
        path.write_text("\n".join(texts[form]))
    elif form == "npy":
        np.save(path := tmp_path / "K.npy", K)
    elif form == "npz":
        np.savez(path := tmp_path / "K.npz", K)
    elif form == "named":
        np.savez(path := tmp_path / "K.npz", kernel=K, other=K + 1, ids=np.array(names))
    else:
        path = K if form == "array" else make_frame(form, dict(zip(names, K.T, strict=True)))
    read, ids = read_kernel(path)
    np.testing.assert_array_equal(read, K)
    assert (ids.tolist() == names) if has_ids else ids is None
    ends = ["b", "c"] if has_ids else ["1", "2"]
    graph = RelationGraph.from_frame(kernel=path, edges={"source": [ends[0]], "target": [ends[1]], "value": [2.0]})
    assert graph.to_dense()[1, 2] == 2
    ConditionalRanker(kernel="precomputed").fit(graph)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_kernel_follows_the_order_of_the_nodes(library):
    K = np.array([[2.0, 1, 0], [1, 3, 0.5], [0, 0.5, 1]])
    nodes = {"id": ["c", "a", "b"], "x": [1, 2, 3]}
    edges = {"source": ["a"], "target": ["b"], "value": [1.0]}
    graph = RelationGraph.from_frame(nodes, edges, kernel=make_frame(library, dict(zip("abc", K.T, strict=True))))
    np.testing.assert_array_equal(graph.nodes.base, K[np.ix_([2, 0, 1], [2, 0, 1])])
    assert RelationGraph.from_frame(nodes, edges, kernel=K).nodes.ids.tolist() == ["c", "a", "b"]
    with pytest.raises(ValueError, match="must be of the 3 nodes of nodes, got 2"):
        RelationGraph.from_frame(nodes, edges, kernel=np.eye(2))
    with pytest.raises(ValueError, match="no row of the kernel has the id 'c'"):
        RelationGraph.from_frame(nodes, edges, kernel=make_frame(library, dict(zip("abd", K.T, strict=True))))


def test_the_index_of_a_kernel_frame_is_followed():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(SMALL_KERNEL, index=list("abc"), columns=list("abc"))
    read, ids = read_kernel(frame.loc[["c", "a", "b"]])
    np.testing.assert_array_equal(read, SMALL_KERNEL)
    assert ids.tolist() == list("abc")
    np.testing.assert_array_equal(read_kernel(pd.DataFrame(SMALL_KERNEL, columns=list("abc")))[0], SMALL_KERNEL)
    with pytest.raises(ValueError, match="same ids in its index as in its columns"):
        read_kernel(pd.DataFrame(SMALL_KERNEL, index=list("abd"), columns=list("abc")))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("K.csv", "1,2\n3,x\n", r"K.csv, row 2, column 2: expected a number, got 'x'"),
        ("K.csv", "1,2,3,4\n3,1,2,3\n", "must be a square matrix"),
        ("K.csv", ",a,b\na,1,0\nc,0,1\n", "ids of rows and columns must be the same, row 3 is 'c'"),
        ("K.csv", "1,nan\nnan,1\n", "row 1, column 2: expected a number, got 'nan'"),
        ("K.npy", b"nonsense", "K.npy cannot be read as a kernel"),
        ("K.npz", b"PK nonsense", "K.npz cannot be read as a kernel"),
        ("K.mat", b"", "must be a .csv, .tsv, .npy or .npz"),
    ],
)
def test_a_file_that_is_not_a_kernel_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_kernel(tmp_path / name)


def test_ids_of_a_kernel_must_be_present_and_different():
    pd = pytest.importorskip("pandas")
    for index in (None, ["a", "b", "a"]):
        with pytest.raises(ValueError, match="the kernel: nodes 1 and 3 both have the id 'a'; every node"):
            read_kernel(pd.DataFrame(np.eye(3), columns=["a", "b", "a"], index=index))
    with pytest.raises(ValueError, match="the kernel: node 2 has no id; name it"):
        read_kernel(pd.DataFrame(np.eye(2), columns=["a", ""]))


def test_an_error_says_what_the_nodes_of_a_kernel_without_ids_are():
    edges = {"source": ["a"], "target": ["b"], "value": [1.0]}
    with pytest.raises(ValueError, match=r"the kernel has no ids, so its nodes are 0 to 2; .* as nodes=, or an npz"):
        read_graph(None, edges, kernel=np.eye(3))
    assert read_graph({"id": ["a", "b", "c"]}, edges, kernel=np.eye(3)).n_edges == 1


def test_kernels_are_never_unpickled(tmp_path):
    np.save(tmp_path / "K.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read as a kernel"):
        read_kernel(tmp_path / "K.npy")
    with pytest.raises(ValueError, match=r"missing.npy cannot be read"):
        read_kernel(tmp_path / "missing.npy")
    np.savez(tmp_path / "K.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(ValueError, match="one named 'kernel'"):
        read_kernel(tmp_path / "K.npz")
    assert read_kernel(tmp_path / "K.npz", "a")[0].shape == (2, 2)
