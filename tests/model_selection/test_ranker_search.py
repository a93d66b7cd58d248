"""The search chooses on holdouts of the setting, keeps its hands off reserved nodes, and never prefers noise."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, TableRanker
from condrank.baselines import NearestNeighbours, PopularityRanker, SimilarityRanker, TwoStepRidge
from condrank.metrics import pair_counts
from condrank.model_selection import (
    PreparedRanker,
    RankerSearch,
    SimilaritySearch,
    budget,
    candidates,
    choices,
    judging,
    searching,
    stages,
)
from condrank.model_selection.judging import Judge
from reference_search import faster_wins

RNG = np.random.default_rng(0)


@pytest.fixture
def few(monkeypatch):
    """Fewer candidates and holdouts, for quick tests."""
    monkeypatch.setattr(budget, "MOST_HOLDOUTS", 3)
    for name, values in {"NEIGHBOURS": (5,), "POWERS": (2,), "CONSTANTS": (1.0,), "WIDTHS": (0.3,)}.items():
        monkeypatch.setattr(stages, name, values)
    monkeypatch.setattr(searching, "ROUNDS", 1)
    for name in ("pair_kernels", "relevance"):
        monkeypatch.setattr(stages, name, lambda *_: iter(()))


def smooth(n=45, m=None, noise=0.1, seed=0, share=1.0, **options):
    """Values that are a smooth function of the features of both ends; of one domain, or of two."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, 3)), rng.normal(size=(m or n, 3))
    Z = X if m is None else Z
    Y = np.tanh(X @ np.array([[2.0, 0, 0], [0, 0, -1], [0, 1, 0]]) @ Z.T) + noise * rng.normal(size=(n, len(Z)))
    Y = np.where(rng.random(Y.shape) < share, Y, np.nan)
    return RelationGraph(X, Y, **options) if m is None else RelationGraph(X, Y, objects=Z, **options)


class Spy:
    """Training and test graphs of everything that is judged, and graphs of other fits."""

    def __init__(self, monkeypatch):
        self.judged, self.names = [], []
        original = judging._counts

        def counts(candidate, train, test, rank_by):
            self.judged.append((train, test))
            self.names.append(candidate.name)
            return original(candidate, train, test, rank_by)

        monkeypatch.setattr(judging, "_counts", counts)


@pytest.fixture
def spy(monkeypatch):
    return Spy(monkeypatch)


@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
@pytest.mark.parametrize("setting", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [None, 40])
def test_every_setting_of_one_and_two_domains(few, spy, setting, m):
    search = RankerSearch(setting=setting, random_state=0).fit(smooth(m=m, share=0.8))
    assert search.learned_
    assert search.loss_ < 0.35
    assert search.loss_error_ > 0
    assert search.leaderboard_[0].loss <= search.leaderboard_[-1].loss
    assert sum(row.chosen for row in search.leaderboard_) == 1
    assert {row.is_baseline for row in search.leaderboard_} == {True, False}
    assert search.predict(search.fitted_.model.rows.nodes.rows[:3]).shape == (3, m or 45)
    # What is new in a setting is in no training graph, and what is known is.
    for train, test in spy.judged:
        rows, cols = test.nodes.places_in(train.nodes) >= 0, test.objects.places_in(train.objects) >= 0
        assert rows.all() == (setting in (1, 3))
        assert rows.any() == (setting in (1, 3))
        assert cols.all() == cols.any() == (setting in (1, 2))
        if setting == 1:
            seen = ~np.isnan(train.to_dense()) & ~np.isnan(test.to_dense())
            assert not seen.any()


def test_every_candidate_has_three_holdouts_and_no_choice_sees_reserved_nodes(few, spy, monkeypatch):
    graph = smooth(60)
    states = []
    original = searching.Searching.search
    monkeypatch.setattr(searching.Searching, "search", lambda self: states.append(self) or original(self))
    search = RankerSearch(random_state=0).fit(graph)
    judged = {row.name for row in search.leaderboard_}
    assert all(spy.names.count(name) >= 3 for name in judged)
    reserved = set(states[0].reserved[1].nodes.positions)
    assert len(reserved) == 12
    for pair in spy.judged:
        for part in pair:
            assert reserved.isdisjoint(part.nodes.positions)
    assert reserved.isdisjoint(states[0].space.samples[0].positions)
    with pytest.raises(ValueError, match="n_holdouts must be 'auto' or at least 3"):
        RankerSearch(n_holdouts=2).fit(graph)


def test_the_loss_is_that_of_reserved_nodes(few, monkeypatch):
    states = []
    original = searching.Searching.search
    monkeypatch.setattr(searching.Searching, "search", lambda self: states.append(self) or original(self))
    search = RankerSearch(random_state=0).fit(smooth(60))
    train, test = states[0].reserved
    fresh = clone(search.best_ranker_).fit(train)
    assert search.loss_ == pytest.approx(1 - fresh.score(test), abs=1e-3)


def test_groups_are_held_out_whole(few, spy):
    groups = np.arange(60) % 10
    search = RankerSearch(random_state=0).fit(smooth(60), groups=groups)
    assert search.held_out_by_ == "groups"
    for train, test in spy.judged:
        assert not set(groups[train.nodes.positions]) & set(groups[test.nodes.positions])
    two = RankerSearch(random_state=0).fit(smooth(40, 30), groups=(np.arange(40) % 8, None))
    assert two.held_out_by_ == "groups"
    with pytest.raises(ValueError, match="must be a pair"):
        RankerSearch().fit(smooth(40, 30), groups=np.arange(40) % 8)
    with pytest.raises(ValueError, match="setting=1 holds out edges"):
        RankerSearch(setting=1).fit(smooth(40), groups=np.arange(40) % 8)


@pytest.mark.parametrize(("n_classes", "by"), [(8, "classes"), (4, "classes"), (3, "nodes")])
def test_classes_are_held_out_whole_if_there_are_enough(few, spy, n_classes, by):
    search = RankerSearch(random_state=0).fit(classes(n_classes))
    assert search.held_out_by_ == by
    assert np.isnan(search.loss_) == (n_classes == 4)
    labels = np.arange(60) % n_classes
    shared = [set(labels[train.nodes.positions]) & set(labels[test.nodes.positions]) for train, test in spy.judged]
    assert any(shared) == (by == "nodes")
    assert search.relation == "symmetric" or not search.learned_


def classes(n_classes, n=60):
    rng = np.random.default_rng(1)
    labels = np.arange(n) % n_classes
    centres = 2 * rng.normal(size=(n_classes, 4))
    return RelationGraph.from_classes(centres[labels] + rng.normal(size=(n, 4)), labels)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_worse_than_the_best_baseline_is_returned(few, monkeypatch, seed):
    """Whatever is returned is the best baseline, or better than it where both were judged last."""
    states = []
    original = searching.Searching.search
    monkeypatch.setattr(searching.Searching, "search", lambda self: states.append(self) or original(self))
    graph = smooth(40, noise=[0.1, 1.0, 3.0, 30.0][seed], seed=seed)
    search = RankerSearch(random_state=seed).fit(graph)
    decision = states[0].decision
    last = decision.finalists or decision.judged
    baseline = min((one for one in last if one.candidate.is_baseline), key=lambda one: one.loss)
    chosen = next(row for row in search.leaderboard_ if row.chosen)
    found = next(one for one in last if one.candidate.name == chosen.name)
    assert chosen.is_baseline == (not search.learned_)
    assert ("adds nothing" in search.summary_) == chosen.is_baseline
    assert "\n" not in search.summary_
    assert f"rank loss {found.loss:.4f} ± {found.standard_error:.4f}" in search.summary_
    assert ("on more holdouts" in search.summary_) == bool(decision.finalists)
    if chosen.is_baseline:
        assert found is baseline
        assert isinstance(search.best_ranker_, NearestNeighbours | SimilarityRanker | PopularityRanker | TwoStepRidge)
    else:
        assert found.loss < baseline.loss


def noise_of(kind, seed):
    """Labels that have nothing to do with the features: of one domain, of two, of classes, or of games."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 30))
    if kind == "classes":
        return RelationGraph.from_classes(rng.normal(size=(60, 3)), rng.integers(0, 8, size=60))
    if kind == "games":
        return RelationGraph(X, np.sign(Y - Y.T))
    if kind == "two domains":
        return RelationGraph(X, Y[:, :20], objects=rng.normal(size=(20, 3)))
    return RelationGraph(X, Y)


@pytest.mark.parametrize("kind", ["one domain", "two domains", "classes", "games"])
def test_noise_gives_a_baseline(few, monkeypatch, kind):
    monkeypatch.setattr(budget, "MOST_HOLDOUTS", 6)
    monkeypatch.setattr(stages, "losses", lambda *_: iter(()))  # the logistic one takes most of the time
    found = [RankerSearch(random_state=seed).fit(noise_of(kind, seed)).learned_ for seed in range(4)]
    assert not any(found), found


def test_cheap_candidates_have_more_holdouts():
    assert budget.affordable_holdouts(1e3, None) == budget.affordable_holdouts(1e3, 60.0) == budget.MOST_HOLDOUTS
    assert budget.affordable_holdouts(1e13, None) == budget.affordable_holdouts(1e3, 1e-3) == 3
    numbers = [budget.affordable_holdouts(flops, 60.0) for flops in np.logspace(6, 12, 50)]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) > 2


@pytest.mark.parametrize(("asked", "number", "share"), [("auto", 7, 4), (3, 3, 3), (6, 6, 4)])
def test_many_holdouts_hold_out_less(few, spy, monkeypatch, asked, number, share):
    monkeypatch.setattr(budget, "MOST_HOLDOUTS", 7)
    search = RankerSearch(n_holdouts=asked, random_state=0).fit(smooth(60))
    assert search.n_holdouts_ == number
    assert spy.names.count("5 nearest neighbours") % number == 0
    first = spy.judged[:number]  # there may be more holdouts for the last decision
    assert {(len(train), len(test)) for train, test in first} == {(48 - 48 // share, 48 // share)}


def test_the_time_limit_counts_everything(few, monkeypatch, spy):
    """With a clock that only work moves: a fit takes as many seconds as it has operations."""
    now = [0.0]
    monkeypatch.setattr(budget, "clock", lambda: now[0])
    original, fit = judging._counts, ConditionalRanker.fit

    def counts(candidate, train, test, rank_by):
        now[0] += judging.work(candidate, train)[1] * 1e-6
        return original(candidate, train, test, rank_by)

    def fitted(self, X, Y=None, validation=None):
        now[0] += candidates.work(candidates.Candidate("", self, alphas=(self.alpha,)), X)[1] * 1e-6
        return fit(self, X, Y, validation)

    monkeypatch.setattr(judging, "_counts", counts)
    monkeypatch.setattr(ConditionalRanker, "fit", fitted)
    graph = smooth(60)
    whole = RankerSearch(random_state=0).fit(graph)
    needed = now[0]
    for share in (0.25, 0.9):
        started = now[0]
        search = RankerSearch(random_state=0, time_limit=share * needed).fit(graph)
        assert now[0] - started <= 1.2 * share * needed
        assert now[0] - started >= 0.2 * share * needed  # and the time is used
        # With nearly all of the time everything is tried, and less is judged again.
        assert (0 < len(search.leaderboard_) < len(whole.leaderboard_)) == (share < 0.5)
    least = RankerSearch(random_state=0, time_limit=1e-9).fit(graph)
    assert len(least.leaderboard_) == 1


def test_an_interrupt_keeps_the_best_so_far(few):
    seen = []

    def stop(row):
        seen.append(row)
        if len(seen) == 6:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        search = RankerSearch(callback=stop, random_state=0).fit(smooth(45))
    assert len(search.leaderboard_) == 6
    assert {row.name for row in seen} == {row.name for row in search.leaderboard_}
    assert search.predict(np.zeros((2, 3))).shape == (2, 45)


def test_results_are_the_same_for_the_same_seed(few):
    one, other = (clone(RankerSearch(random_state=3)).fit(smooth(45)) for _ in range(2))
    assert [(row.name, row.loss) for row in one.leaderboard_] == [(row.name, row.loss) for row in other.leaderboard_]
    assert one.loss_ == other.loss_
    np.testing.assert_array_equal(one.predict(np.eye(3)), other.predict(np.eye(3)))
    assert set(RankerSearch().get_params()) == {
        *("ranker", "setting", "n_holdouts", "time_limit", "baselines", "max_nodes", "callback", "verbose"),
        "random_state",
    }


def test_kernels_views_and_texts(few):
    graph = smooth(45)
    X = graph.nodes.rows
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4)
    for kernel in (None, ConditionalRanker(kernel="precomputed")):
        search = RankerSearch(kernel, random_state=0).fit(K, graph.to_dense())
        assert all("rbf" not in row.name for row in search.leaderboard_)
        assert search.loss_ < 0.4
    views = RelationGraph({"good": X, "noise": RNG.normal(size=(45, 3)), "given": K}, graph.to_dense())
    search = RankerSearch(random_state=0).fit(views)
    names = [row.name for row in search.leaderboard_]
    assert any("good" in name and "noise" not in name for name in names)
    assert search.loss_ < 0.4
    words = sparse.random_array((60, 80), density=0.1, rng=np.random.default_rng(0), format="csr")
    Y = (words @ words.T).toarray()
    search = RankerSearch(random_state=0).fit(sparse.csr_array(words), Y)
    assert search.loss_ < 0.3
    assert any("cosine" in row.name for row in search.leaderboard_)


def test_games_have_strengths_and_the_losses_of_games(few):
    search = RankerSearch(random_state=0).fit(faster_wins(45))
    names = [row.name for row in search.leaderboard_]
    assert search.relation == "reciprocal"
    assert any(name.startswith("logistic") for name in names)
    assert any("compared" in name for name in names)
    assert "strengths without features" in names
    assert all("constant" in row.name for row in search.leaderboard_ if not row.is_baseline)
    assert hasattr(search, "predict_proba") == (search.loss == "logistic")


def test_a_given_ranker_keeps_its_relation_and_loss(few):
    given = ConditionalRanker("ordinary", "regression", kernel="rbf", rank_by="incoming")
    search = RankerSearch(given, random_state=0).fit(smooth(45))
    assert any(row.name == "the given ranker" for row in search.leaderboard_)
    assert all(row.params.get("loss") == "regression" for row in search.leaderboard_)
    assert search.rank_by == search.best_ranker_.rank_by == "incoming"
    for wrong in ("ranker", ConditionalRankerCV(), SimilarityRanker()):
        with pytest.raises(ValueError, match="must be a ConditionalRanker"):
            RankerSearch(wrong).fit(smooth(20))


def test_too_few_nodes_give_the_default_without_a_search():
    X = np.arange(3.0)[:, None]
    with pytest.warns(UserWarning, match="too little can be held out"):
        search = RankerSearch().fit(X, X - X.T)
    assert np.isnan(search.loss_)
    assert "Too little" in search.summary_
    assert len(search.leaderboard_) == 1
    assert search.predict(X).shape == (3, 3)


def test_the_leaderboard_can_be_shown(few):
    board = RankerSearch(random_state=0).fit(smooth(40)).leaderboard_
    frame = board.to_frame()
    assert list(frame["loss"]) == [row.loss for row in board] == sorted(row.loss for row in board)
    assert "<table>" in board._repr_html_()
    assert str(board).count("\n") == len(board) - 1
    assert "chosen" in str(board)
    assert len(board[:2]) == 2


def test_what_was_chosen_is_saved_within_tables(few, tmp_path):
    graph = smooth(40)
    nodes = {"id": [f"p{i}" for i in range(40)], **dict(zip("abc", graph.nodes.rows.T, strict=True))}
    i, j = np.nonzero(~np.eye(40, dtype=bool))
    edges = {
        "source": [f"p{k}" for k in i],
        "target": [f"p{k}" for k in j],
        "value": graph.to_dense()[i, j],
    }
    quantile = PreparedRanker(ConditionalRanker(kernel="rbf"), "quantile")
    for ranker in (RankerSearch(random_state=0), quantile, SimilarityRanker("rbf"), PopularityRanker()):
        fitted = TableRanker(ranker).fit(nodes, edges)
        fitted.save(tmp_path / "model")
        loaded = TableRanker.load(tmp_path / "model")
        new = {"a": [0.1], "b": [1.0], "c": [-2.0]}
        np.testing.assert_allclose(loaded.predict(new), fitted.predict(new))
        np.testing.assert_array_equal(loaded.rank(["p1"]).ids, fitted.rank(["p1"]).ids)


def test_the_former_name_warns_and_works(few):
    with pytest.warns(FutureWarning, match="is now RankerSearch"):
        search = SimilaritySearch(ConditionalRanker(kernel="rbf"), n_splits=1, random_state=0).fit(smooth(40))
    assert search.n_holdouts == 3
    assert search.history_ == list(search.leaderboard_)
    assert not any(row.is_baseline for row in search.leaderboard_)
    assert search.transformer_ is None or isinstance(search.best_ranker_, PreparedRanker)


def test_a_judge_prepares_each_holdout_once():
    graph = smooth(30)
    judge = Judge([(graph[np.arange(20)], graph[np.arange(20, 30)])], [np.arange(10)], "outgoing")
    candidate = candidates.Candidate("", ConditionalRanker(), "standard", (1.0,))
    assert judge.prepared(candidate) is judge.prepared(candidate)


def test_means_of_known_nodes_are_found_at_once():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    # What every object has of its own is in no feature; one feature of both sides matters a little.
    Y = rng.normal(size=40) + 0.3 * np.outer(X[:, 0], Z[:, 0]) + 0.1 * rng.normal(size=(60, 40))
    search = RankerSearch(setting=2, n_holdouts=3, random_state=0).fit(RelationGraph(X, Y, objects=Z))
    names = [row.name for row in search.leaderboard_]
    assert search.learned_
    assert any("identity 1" in name and name.count("constant") == 2 for name in names)
    assert "Identity()" in str(search.best_params_["object_kernel"])


def test_two_step_ridge_is_tried_with_given_kernels_of_unit_length(few):
    graph = smooth(30, 25)
    rows, cols = graph.nodes.rows, graph.objects.rows
    K, G = (X @ X.T + 0.1 * np.eye(len(X)) for X in (rows, cols))
    board = RankerSearch(random_state=0).fit(RelationGraph(K, graph.to_dense(), objects=G)).leaderboard_
    names = [row.name for row in board if row.name.startswith("two-step") and row.is_baseline]
    assert {"two-step ridge", "two-step ridge: given kernel × given kernel"} <= set(names)
    board = RankerSearch(random_state=0).fit(graph).leaderboard_
    assert all("two-step ridge:" not in row.name for row in board if row.is_baseline)


def test_few_classes_are_not_held_out_twice(few, spy, monkeypatch):
    """Two of four classes can be held out in six ways."""
    monkeypatch.setattr(budget, "MOST_HOLDOUTS", 16)
    search = RankerSearch(random_state=0).fit(classes(4))
    assert search.n_holdouts_ == 6
    held = [test.nodes.positions.tobytes() for _, test in spy.judged[: search.n_holdouts_]]
    assert len(set(held)) == len(held)


def test_powers_whose_values_vanish_are_not_tried():
    """With values of 0.03 between nodes, a fourth power is lost in the rounding of a mean that is added to it."""
    rng = np.random.default_rng(0)
    for value, powers in ((0.03, {2}), (0.5, {2, 4})):
        X = rng.normal(size=(40, 3))
        K = value + (1 - value) * np.eye(40) + 1e-3 * np.tanh(X @ X.T)
        graph = RelationGraph(K, np.tanh(X @ X.T))
        space = choices.Space(graph, ConditionalRanker(), np.random.RandomState(0))
        part = choices.Part(None, "precomputed")
        assert space.typical(0, part, "raw") == pytest.approx(value, rel=0.05)
        best = choices.Choice(choices.Side((part,)), None, "symmetric", "regression")
        assert {one.rows.parts[0].power for one in stages.shapes(space, best)} == powers


def test_two_step_ridge_is_searched_on_complete_graphs(monkeypatch):
    """Labels of a power of the given kernels: two-step ridge with other shapes is tried, and is not a baseline."""
    monkeypatch.setattr(budget, "MOST_HOLDOUTS", 6)
    graph = smooth(40, 30)
    K, G = (np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20) for X in (graph.nodes.rows, graph.objects.rows))
    for Y, is_complete in ((graph.to_dense(), True), (smooth(40, 30, share=0.7).to_dense(), False)):
        board = RankerSearch(random_state=0).fit(RelationGraph(K, Y, objects=G)).leaderboard_
        found = [row for row in board if row.name.startswith("two-step ridge:") and not row.is_baseline]
        assert any("power" in row.name for row in found) == is_complete
        names = [row.name for row in board]
        assert len(names) == len(set(names))  # what is a baseline is not judged twice


def test_two_step_ridge_is_judged_by_its_scores(few):
    state = searching.Searching(RankerSearch(random_state=0), smooth(40, 30), None)
    (choice,) = stages.two_step(state.space, None, state.defaults[0])
    judged = state.judge.judge(state.space.candidate(choice))
    assert not judged.candidate.is_baseline
    kernels = {name: judged.candidate.ranker.get_params()[name] for name in ("kernel", "object_kernel")}
    losses = []
    for alpha in state.space.candidate(choice).alphas:
        ranker, wrong, comparable = TwoStepRidge(alpha, fit_intercept=True, **kernels), 0.0, 0.0
        for train, test in state.judge.splits:
            counts = pair_counts(test.to_dense(), ranker.fit(train).predict(test))
            wrong, comparable = wrong + counts[0].sum(), comparable + counts[1].sum()
        losses.append(wrong / comparable)
    assert judged.loss == pytest.approx(min(losses))
    assert judged.candidate.ranker.alpha == state.space.candidate(choice).alphas[int(np.argmin(losses))]


def test_the_logistic_loss_is_tried_near_the_best_ridge(few, spy):
    """Once, with the kernel that the other losses have chosen, at two values of λ."""
    state = searching.Searching(RankerSearch(random_state=0), faster_wins(45), None)
    state.search()
    found = [one.candidate for one in state.decision.judged if one.candidate.name.startswith("logistic")]
    assert len(found) == 1
    names = {found[0].name.replace("logistic", loss) for loss in ("regression", "ranking")}
    quadratic = [one.candidate for one in state.decision.judged if one.candidate.name in names]
    near = {factor * one.alphas[0] for one in quadratic for factor in (1.0, 0.1)}
    assert any(found[0].alphas[0] == pytest.approx(one) for one in near)


def test_given_kernels_with_negative_eigenvalues_are_clipped_in_the_last_fit(few):
    """Parts of a kernel may have none where the whole has: two-step ridge was refused after the search."""
    graph = smooth(45, 40)
    kernels = []
    for X in (graph.nodes.rows, graph.objects.rows):
        v = np.random.default_rng(1).normal(size=len(X))
        v /= np.linalg.norm(v)
        K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4)
        kernels.append(0.9 * K + 0.1 * np.eye(len(X)) - 0.2 * np.multiply.outer(v, v))
    assert np.linalg.eigvalsh(kernels[0])[0] < -0.02
    whole = RelationGraph(kernels[0], graph.to_dense(), objects=kernels[1])
    with pytest.raises(ValueError, match="positive semi-definite"):
        TwoStepRidge(kernel="precomputed").fit(whole)
    clipped = TwoStepRidge(kernel="precomputed", clip=True).fit(whole)
    assert (clipped.fitted_.model.rows.sigma > 0).all()
    state = searching.Searching(RankerSearch(n_holdouts=3, random_state=0), whole, None)
    (choice,) = stages.two_step(state.space, None, state.defaults[0])
    assert state.final(state.judge.judge(state.space.candidate(choice)).candidate, whole).fit(whole).score(whole) > 0.5


def test_given_kernels_without_a_diagonal_can_be_searched(few):
    X = np.random.default_rng(0).normal(size=(40, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(K, 0)
    space = choices.Space(RelationGraph(K, K**2), ConditionalRanker(), np.random.RandomState(0))
    part = choices.Part(None, "precomputed", power=8)
    best = choices.Choice(choices.Side((part,)), None, "symmetric", "regression")
    assert [one.rows.parts[0].power for one in stages.shapes(space, best)] == [16]


def test_a_finalist_that_cannot_be_judged_again_is_dropped(few, monkeypatch):
    """Unless it is the best or the best baseline: then the first holdouts decide."""
    for place, n_finalists in ((0, False), (1, False), (2, True)):
        state = searching.Searching(RankerSearch(random_state=0), smooth(45), None)
        with monkeypatch.context() as patch:
            patch.setattr(searching.Searching, "_decide", lambda self: None)
            state.search()
        kept = state.decision.contenders()
        assert len(kept) > 2
        original = judging._counts

        def refuse(candidate, *given, bad=kept[place].candidate, original=original):
            if candidate.name == bad.name:
                raise ValueError("not positive semi-definite")
            return original(candidate, *given)

        with monkeypatch.context() as patch:
            patch.setattr(judging, "_counts", refuse)
            state._decide()
        assert bool(state.decision.finalists) == n_finalists
        assert all(one.candidate is not kept[place].candidate for one in state.decision.finalists)
        state.decision.chosen()


def test_with_little_time_the_best_baseline_is_judged_again_before_others(few, monkeypatch):
    state = searching.Searching(RankerSearch(random_state=0), smooth(45), None)
    with monkeypatch.context() as patch:
        patch.setattr(searching.Searching, "_decide", lambda self: None)
        state.search()
    kept = state.decision.contenders()
    affordable = searching.MORE * sum(one.seconds for one in kept[:2])
    monkeypatch.setattr(state, "_last_fits", lambda candidate: 0.0)
    monkeypatch.setattr(state.budget, "affords", lambda seconds: seconds <= 1.0001 * affordable)
    state._decide()
    assert [one.candidate for one in state.decision.finalists] == [one.candidate for one in kept[:2]]
    assert kept[1].candidate.is_baseline


def test_the_given_ranker_is_no_simpler_than_doing_nothing(few):
    given = ConditionalRanker("ordinary", "regression")
    state = searching.Searching(RankerSearch(given, random_state=0), smooth(45), None)
    state.search()
    found = {one.candidate.name: one.candidate.complexity for one in state.decision.judged}
    assert found["the given ranker"] > found["popularity without features"]
