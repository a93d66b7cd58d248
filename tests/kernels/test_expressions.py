"""Kernel expressions: operators, printing, reading, parameters, and what is refused."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from condrank import ConditionalRanker
from condrank.kernels import (
    RBF,
    Chi2,
    Constant,
    Cosine,
    Custom,
    Identity,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Sigmoid,
    Sum,
    Unit,
    Weighted,
    parse_kernel,
    read_kernel,
)
from condrank.kernels.shorthand import shorthand_of
from reference_kernels import naive_kernel

views = st.sampled_from([None, "text", "it's"])
numbers = st.floats(1e-6, 1e6)
leaves = st.one_of(
    st.builds(Linear, view=views),
    st.builds(RBF, st.one_of(st.none(), st.just("median"), numbers), view=views),
    st.builds(Laplacian, numbers, view=views, feature_weights=st.sampled_from([None, (1.0, 0.0, 2.5)])),
    st.builds(Polynomial, numbers, numbers, degree=st.sampled_from([2.0, 3.0])),
    st.builds(Sigmoid, numbers, st.floats(-2, 2)),
    st.builds(Chi2, numbers),
    st.builds(Cosine, view=views),
    st.builds(Precomputed, views),
    st.just(Constant()),
    st.just(Identity()),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda w, a: w * a, st.floats(0, 100), inner),
        st.builds(lambda a, p: a**p, inner, st.one_of(st.integers(1, 9), st.floats(0.1, 9))),
        st.builds(Unit, inner),
    ),
    max_leaves=8,
)


@given(expressions)
@settings(max_examples=200, deadline=None)
def test_what_is_printed_can_be_read_again(kernel):
    assert parse_kernel(repr(kernel)) == kernel
    assert clone(kernel) == kernel
    assert clone(kernel) is not kernel
    assert copy.deepcopy(kernel) == kernel


@given(expressions)
@settings(max_examples=100, deadline=None)
def test_nested_parameters_can_be_read_and_set(kernel):
    params = kernel.get_params()
    twin = clone(kernel)
    twin.set_params(**{name: value for name, value in params.items() if not isinstance(value, Kernel)})
    assert twin == kernel
    for name, value in params.items():
        if name.endswith("weight") and value != 3.5:
            twin.set_params(**{name: 3.5})
            assert twin.get_params()[name] == 3.5
            assert twin != kernel
            break


@given(expressions)
@settings(max_examples=100, deadline=None)
def test_a_kernel_is_its_body_and_its_constant(kernel):
    constant = sum(weight for weight, one in kernel.summands() if one.is_constant)
    assert kernel.constant == pytest.approx(constant)
    if kernel.constant and not all(one.is_constant for _, one in kernel.summands()):
        assert kernel.body.constant == 0
        assert len(kernel.body.summands()) == len([one for _, one in kernel.summands() if not one.is_constant])


def test_operators_make_the_classes_that_they_say():
    a, b, c = RBF(0.1), Linear(), Cosine()
    assert a + b + c == Sum(a, b, c)
    assert a + (b + c) == Sum(a, b, c)
    assert a * b * c == Product(a, b, c)
    assert 2 * a == a * 2 == Weighted(2.0, a)
    assert 2 * (3 * a) == Weighted(6.0, a)
    assert a**2 == Power(a, 2)
    assert a + 3 == 3 + a == a + Weighted(3, Constant()) or a + 3 == Sum(a, Weighted(3, Constant()))
    assert np.float32(2) * a == Weighted(2.0, a)
    with pytest.raises(TypeError):
        a + "b"
    with pytest.raises(TypeError):
        a**b


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: -1 * RBF(), "weight of a kernel must be a finite number of at least 0"),
        (lambda: float("nan") * RBF(), "weight of a kernel must be a finite number"),
        (lambda: RBF() ** 0, "exponent of a kernel must be a finite number greater than 0"),
        (lambda: RBF(gamma=-1), "gamma must not be negative for the rbf kernel"),
        (lambda: RBF(gamma="mean"), "must be a number, None or 'median', got 'mean'"),
        (lambda: Sigmoid(gamma="median"), "must be a number or None, got 'median'"),
        (lambda: RBF(view=3), "view must be the name of a view, got 3"),
        (lambda: Linear(feature_weights=(-1.0, 1.0)), "feature_weights must be finite numbers, not negative"),
        (lambda: Sum(RBF()), "at least two kernels"),
        (lambda: Product(RBF(), 2), "takes kernels, got 2"),
        (lambda: Unit("rbf"), "Unit takes kernels, got .rbf."),
        (lambda: Linear(feature_weights="abc"), "feature_weights must be finite numbers"),
        (lambda: Linear(feature_weights=(0.0,) * 999 + (-1.0,)), r"feature_weights .* got .{77}\.\.\.$"),
        (lambda: Unit(RBF), r"got the class RBF: write RBF\(\)"),
        (lambda: Sum(RBF, Linear()), r"got the class RBF: write RBF\(\)"),
        (lambda: read_kernel(RBF), r"got the class RBF: write RBF\(\)"),
        (lambda: read_kernel("RBF"), r"write RBF\(\)"),
        (lambda: RBF(view="z")({"x": [[1.0]], "y": [[1.0]]}), "needs the view 'z', got the views"),
        (lambda: RBF()({}), "X must have at least one view"),
        (lambda: RBF()([["a"]]), "X must be numeric"),
        (lambda: Custom("rbf"), "must be callable"),
        (lambda: Custom(min, on="columns"), "on must be one of"),
        (lambda: RBF().set_params(width=1), "RBF has no parameter 'width'"),
        (lambda: (RBF() + Linear()).set_params(k1__gamma=-2), "gamma must not be negative"),
        (lambda: (RBF() + Linear()).set_params(k1=3), "k1 of a Sum must be a kernel, got 3"),
        (lambda: RBF().set_params(gamma__x=3), "has no parameters"),
        (lambda: read_kernel(RBF(), gamma=2.0), "gamma must be in the kernel expression itself"),
        (lambda: read_kernel("rbff"), "kernel must be a callable or one of"),
        (lambda: read_kernel(3), "kernel must be a callable or one of"),
        (lambda: read_kernel("rbf", constant=-1), "constant must be a finite number of at least 0"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RBF(", "cannot be read near character"),
        ("", "cannot be read"),
        ("RBF", r"unknown word 'RBF'; write RBF\(\)"),
        ("rbf()", r"did you mean RBF\(\)"),
        ("Laplace()", r"did you mean Laplacian\(\)"),
        ("__import__('os').system('true')", "cannot be read"),
        ("open('x')", "unknown word 'open'"),
        ("RBF(gamma=open('x'))", "parameter that cannot be read"),
        ("RBF(**{'gamma': 1})", "must name its parameters"),
        ("RBF(view='a', view='b')", "has a parameter twice"),
        ("RBF(wide=1)", "unexpected keyword argument 'wide'"),
        ("RBF() - Linear()", "cannot be read: 'RBF.. - Linear..'"),
        ("RBF() ** Linear()", r"needs a number after \*\*"),
        ("2 + 3", "combines two numbers"),
        ("7", "is only a number"),
        ("Unit(3)", "Unit takes kernels"),
        ("-1 * RBF()", "at least 0, got -1"),
        ("(" * 60 + "RBF()" + "+ Unit(Linear())" + ")" * 60, None),
        ("Unit(" * 60 + "RBF()" + ")" * 60, "nested more than"),
        ("1" * 200_000, "may have 100,000 characters"),
    ],
)
def test_texts_that_are_no_kernels_are_refused(text, message):
    if message is None:
        assert parse_kernel(text) == RBF() + Unit(Linear())
        return
    with pytest.raises(ValueError, match=message):
        parse_kernel(text)


def test_an_expression_may_have_several_lines():
    assert parse_kernel("RBF(view='a b')\n  + 0.5\r\n * Linear()\n") == RBF(view="a b") + 0.5 * Linear()


def test_the_sum_of_a_list_is_a_sum_of_kernels():
    assert sum([RBF(), Linear(), Cosine()]) == Sum(RBF(), Linear(), Cosine())


def test_kernels_with_arrays_as_parameters_are_compared():
    one, same, other = (Custom(min, params={"w": np.array(values)}) for values in ([1, 2], [1, 2], [1, 3]))
    assert one == same
    assert one != other
    assert one + Linear() != other + Linear()
    assert one != Custom(min, params={"w": [1, 2]})
    X, Y = np.eye(3, 2), np.arange(9.0).reshape(3, 3)
    weighted = Custom(lambda x, y, w: float((w * x) @ y), params={"w": np.array([1.0, 2.0])})
    ranker = ConditionalRanker(kernel=weighted, warm_start=True)
    scores = ranker.fit(X, Y).predict(X)
    np.testing.assert_array_equal(ranker.fit(X, Y).predict(X), scores)


def test_the_function_of_a_kernel_is_not_copied_for_a_fit():
    class Table:
        """A function with data of its own."""

        def __call__(self, x, y):
            return float(x @ y)

    table = Table()
    found = read_kernel(Custom(table) + Linear(), constant=True)
    assert next(found.leaves()).function is table
    given = Custom(table) + RBF(0.5)
    read_kernel(given).set_params(k2__gamma=3.0)
    assert given.kernels[1].gamma == 0.5


def test_the_body_of_a_kernel_has_no_constant_of_weight_zero():
    assert (RBF() + 0.0 * Constant()).body == RBF()
    assert (RBF() + Linear()).body == RBF() + Linear()
    assert (2 * Constant()).body == 2 * Constant()


def test_a_kernel_takes_lists_whole_numbers_and_a_median():
    X = [[1, 2], [2, 2], [4, 0]]
    expected = np.exp(-0.1 * np.array([[0, 1, 13], [1, 0, 8], [13, 8, 0]]))
    np.testing.assert_allclose(RBF(0.1)(X), expected)
    np.testing.assert_allclose(RBF(0.1)(np.array(X), X[:1]), expected[:, :1])
    np.testing.assert_allclose(RBF("median")(X), expected ** (10 / 8))
    np.testing.assert_allclose((RBF(0.1) + Constant())({"x": X}), expected + 1)


def test_shorthands_are_expressions():
    assert read_kernel("rbf", gamma=0.5) == RBF(0.5)
    assert read_kernel("poly", 0.5, 2, 3.0) == Polynomial(0.5, 3.0, 2)
    assert read_kernel("precomputed", constant=True) == Precomputed() + Constant()
    assert read_kernel("linear", constant=0.25) == Linear() + 0.25 * Constant()
    assert read_kernel("linear", feature_weights=[1, 2]) == Linear(feature_weights=(1.0, 2.0))
    assert read_kernel("Unit(Precomputed())**8 + 0.1*Constant()") == Unit(Precomputed()) ** 8 + 0.1 * Constant()
    for kernel in (RBF(0.5), Polynomial(degree=2), Precomputed() + Constant(), Linear(feature_weights=(1.0, 2.0))):
        assert read_kernel(**shorthand_of(kernel)) == kernel
    for kernel in (2 * RBF(), RBF(view="a"), RBF() + Linear(), Linear() + 0.5 * Constant(), Identity()):
        assert shorthand_of(kernel) is None


def test_a_ranker_keeps_its_kernel_as_it_was_given():
    kernel = 0.5 * RBF("median") + Constant()
    ranker = ConditionalRanker(kernel=kernel, alpha=0.5)
    rng = np.random.default_rng(0)
    ranker.fit(rng.normal(size=(8, 2)), rng.normal(size=(8, 8)))
    assert ranker.kernel is kernel
    assert kernel == 0.5 * RBF("median") + Constant()
    assert clone(ranker).kernel == kernel
    assert "kernel__k1__kernel__gamma" in ranker.get_params()
    ranker.set_params(kernel__k1__weight=2.0)
    assert ranker.kernel == 2.0 * RBF("median") + Constant()


@given(expressions)
@settings(max_examples=60, deadline=None)
def test_a_kernel_can_be_called_with_features(kernel):
    rng = np.random.default_rng(0)
    X, names = np.abs(rng.normal(size=(5, 3))), (None, "text", "it's")
    data = {name: X * (1 + place) for place, name in enumerate(names)}
    fitted = kernel.mapped(lambda leaf: RBF(0.5, view=leaf.view) if getattr(leaf, "gamma", 0) == "median" else leaf)
    kinds = {type(leaf) for leaf in fitted.leaves()}
    if kinds & {Identity, Precomputed}:
        with pytest.raises(ValueError, match="has no values on features alone"):
            fitted(data)
    elif not kinds & {Sigmoid, Chi2, Polynomial}:
        expected = naive_kernel(fitted, data, range(5), range(5), range(5))
        np.testing.assert_allclose(fitted(data), expected, rtol=1e-9, atol=1e-300)
