"""TableEncoder: columns of tables as features, alone and in pipelines of scikit-learn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from condrank import ConditionalRanker, NodeTransformer, RelationGraph
from condrank.model_selection import SettingSplit, cross_validate
from condrank.tables import Table, TableEncoder, read_graph
from forms import EDGES, LIBRARIES, MIXED, make_frame


def test_numbers_are_standardised_and_every_category_has_a_column():
    table = Table.read({"n": [1.0, 2.0, 6.0], "c": ["b", "a", "b"], "k": [5, 5, 5]})
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    np.testing.assert_allclose(X[:, 0], (table.columns["n"] - 3) / np.std([1, 2, 6]))
    np.testing.assert_array_equal(X[:, 1:3], [[0, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(X[:, 3], 0)
    assert encoder.get_feature_names_out().tolist() == ["n", "c=a", "c=b", "k"]
    np.testing.assert_array_equal(encoder.transform({"n": [3.0], "c": ["new"], "k": [5]}), [[0, 0, 0, 0]])
    plain = TableEncoder(standardise=False).fit(table).transform(table)
    np.testing.assert_array_equal(plain[:, [0, 3]], [[1, 5], [2, 5], [6, 5]])


def test_texts_are_encoded_sparse_and_as_by_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = Table.read({"t": ["red apple", "green apple", "red car"], "n": [1, 2, 3]}, text=["t"])
    X = TableEncoder().fit(table).transform(table)
    assert sparse.issparse(X)
    expected = TfidfVectorizer(sublinear_tf=True).fit_transform(table.columns["t"]).toarray()
    np.testing.assert_allclose(X.toarray()[:, :-1], expected)
    assert TableEncoder(max_words=1).fit(table).n_features_out_ == 2


def test_the_state_is_plain_and_complete():
    encoder = TableEncoder().fit(
        read_graph(MIXED | {"day": np.array(["2024-01-01"] * 3 + ["2024-06-01"], "M8[D]")}, EDGES).nodes.base
    )
    state, arrays = encoder.to_state()
    again = TableEncoder.from_state(
        json.loads(json.dumps(state)), {name: array.copy() for name, array in arrays.items()}
    )
    assert all(array.dtype.kind in "fiu" for array in arrays.values())
    new = {
        "age": [3, 4],
        "height": [1.0, 2.0],
        "country": ["FI", "XX"],
        "about": ["walk", "zzz"],
        "day": ["2024-05-05"] * 2,
    }
    np.testing.assert_array_equal(again.transform(new).toarray(), encoder.transform(new).toarray())
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    for name in arrays:
        with pytest.raises((ValueError, KeyError)):
            TableEncoder.from_state(state, {key: array for key, array in arrays.items() if key != name})
        with pytest.raises((ValueError, KeyError)):
            TableEncoder.from_state(state, arrays | {name: arrays[name][:-1]})
    with pytest.raises(ValueError, match="kind of a column"):
        TableEncoder.from_state(state | {"columns": [["age", "numbers"]]}, arrays)
    with pytest.raises(ValueError, match="parameters of the encoder"):
        TableEncoder.from_state(state | {"params": {"fit": 1}}, arrays)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_are_encoded_as_their_columns(library):
    training = {"n": [1.0, 2.0, 6.0], "c": ["b", "a", "b"], "t": ["red apple", "green apple", "red car"]}
    new = {"t": ["red", "blue"], "c": ["a", "new"], "n": [3, 4]}
    encoder = TableEncoder().fit(Table.read(training, text=["t"]))
    same = TableEncoder().fit(Table.read(make_frame(library, training), text=["t"]))
    assert same.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(same.transform(make_frame(library, new)).toarray(), encoder.transform(new).toarray())


def test_many_categories_are_encoded_sparse():
    table = Table.read({"c": [f"c{i}" for i in range(1500)]}, categorical=["c"])
    X = TableEncoder().fit(table).transform(table)
    assert sparse.issparse(X)
    assert (X.toarray() == np.eye(1500)[np.argsort(np.argsort(table.columns["c"]))]).all()


def test_words_of_one_letter_count():
    encoder = TableEncoder().fit(Table.read({"size": ["s", "m l"]}, text=["size"]))
    assert encoder.get_feature_names_out().tolist() == ["size:l", "size:m", "size:s"]
    with pytest.raises(ValueError, match="without any word; list it in categorical="):
        TableEncoder().fit(Table.read({"size": ["+", "-"]}, text=["size"]))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"n": [1]}, "lacks column 'c'"),
        ({"n": ["x"], "c": ["a"]}, "position 0: column 'n' must be a number, got 'x'"),
        ({"n": [None], "c": ["a"]}, "column 'n' has no value"),
        (np.ones((1, 3)), "must have 2 columns, got 3"),
        (np.ones(3), "two-dimensional"),
    ],
)
def test_new_rows_need_the_columns_of_training(new, message):
    encoder = TableEncoder().fit({"n": [1.0, 2.0], "c": ["a", "b"]})
    with pytest.raises(ValueError, match=message):
        encoder.transform(new)
    with pytest.raises(ValueError, match="without any word"):
        TableEncoder().fit(Table.read({"t": ["+ - *"]}, text=["t"]))
    with pytest.raises(ValueError, match="max_words"):
        TableEncoder(max_words=0).fit({"n": [1.0]})


def make_mixed(n=24, seed=0):
    rng = np.random.default_rng(seed)
    nodes = {
        "id": [f"n{i}" for i in range(n)],
        "x": rng.normal(size=n) * 10,
        "c": rng.choice(["a", "b", "c"], n).tolist(),
        "t": [" ".join(rng.choice(["red", "green", "blue", "car", "tree"], 5)) for _ in range(n)],
    }
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and rng.random() < 0.7]
    sources, targets = (np.array(ends) for ends in zip(*pairs, strict=True))
    values = nodes["x"][sources] - nodes["x"][targets]
    edges = {"source": [f"n{i}" for i in sources], "target": [f"n{j}" for j in targets], "value": values}
    return nodes, edges


def test_the_encoder_works_in_pipelines_searches_and_cross_validation():
    graph = RelationGraph.from_frame(*make_mixed())
    with pytest.raises(ValueError, match="the nodes are a table"):
        ConditionalRanker().fit(graph)
    pipeline = make_pipeline(NodeTransformer(TableEncoder()), ConditionalRanker(relation="reciprocal", constant=True))
    search = GridSearchCV(clone(pipeline), {"nodetransformer__transformer__standardise": [True, False]}, cv=3).fit(
        graph
    )
    assert search.best_score_ > 0.8
    result = cross_validate(pipeline, graph, setting=4, cv=3)
    assert result.scores["rank_loss"].mean() < 0.2


def test_the_encoder_of_a_fold_sees_no_held_out_nodes():
    nodes, edges = make_mixed()
    graph = read_graph(nodes, edges)
    for train, test in SettingSplit(4, 3, random_state=0).split(graph):
        fitted = NodeTransformer(TableEncoder()).fit(train).transformer_
        inside = train.nodes.positions
        assert fitted.mean_["x"] == pytest.approx(nodes["x"][inside].mean())
        assert not set(inside) & set(test.nodes.positions)
        changed = nodes | {
            "x": np.where(np.isin(np.arange(24), inside), nodes["x"], 1e6),
            "t": [text if i in inside else "leak leak" for i, text in enumerate(nodes["t"])],
            "c": [one if i in inside else "leak" for i, one in enumerate(nodes["c"])],
        }
        kinds = {"text": ["t"], "categorical": ["c"]}
        other = NodeTransformer(TableEncoder()).fit(read_graph(changed, edges, **kinds)[inside]).transformer_
        assert other.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
        assert other.mean_ == fitted.mean_
        for name, array in fitted.to_state()[1].items():
            np.testing.assert_array_equal(array, other.to_state()[1][name])
