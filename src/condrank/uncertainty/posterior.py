"""The posterior of a fitted model: how sure its scores are.

A fit is the mean of a Gaussian process after the labels were seen. Its labels are y = f + noise with precision L/σ²,
and its prior is f ~ GP(τ k + c, σ²/λ k̄) with the edge kernel k̄ of the relation. The covariance of two scores is

    σ²/λ [k̄(p, p') - k̄_pᵀR(RᵀK̄R + λI)⁻¹Rᵀk̄_p'] = σ² φ_pᵀH⁻¹φ_p' + σ²/λ [k̄(p, p') - φ_pᵀφ_p'],

where φ = Π[z z'ᵀ] and H is the system of the fit. The last bracket is 0 unless both pairs have new nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.models.compared import ComparedModel
from condrank.models.edge import EdgeModel
from condrank.nodes import Nodes
from condrank.objective.losses import REGRESSION
from condrank.observations import Edges
from condrank.problem.settings import Settings
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.compared import ComparedSystem
from condrank.solvers.primal import PrimalSystem
from condrank.uncertainty.complete import CompletePosterior
from condrank.uncertainty.draws import draw_scores
from condrank.uncertainty.edges import EdgePosterior
from condrank.uncertainty.estimating import FIRST_DRAWS, MOST_ERROR
from condrank.uncertainty.evidence import Evidence, loss_weights
from condrank.uncertainty.functionals import Functionals
from condrank.uncertainty.places import Placed, Space, own_rest
from condrank.uncertainty.weights import FactorisedPosterior, SolvedPosterior

# The largest system that is factorised, and the flops that exact variances of many pairs may take before draws.
FACTORISED_MOST, EXACT_MOST_FLOPS = 4000, 4e11
# Draws that replace exact variances of many pairs. A standard deviation from n draws has a relative error of 1/√(2n).
N_DRAWS = 256
# Functionals whose kernel values are held at a time.
BLOCK = 512


class Posterior:
    """Variances and covariances of scores, and draws of them.

    Parameters
    ----------
    settings : Settings
        Settings of the fit.
    model : Model, ComparedModel or EdgeModel
        The fitted model.
    evidence : Evidence
        Noise and observed pairs.
    prepare : pair of callables, optional
        What is done to conditioning nodes and to objects before the model gets them.
    """

    def __init__(self, settings: Settings, model: Any, evidence: Evidence, prepare: tuple[Any, Any] = (None, None)):
        if isinstance(model, EdgeModel) and not isinstance(model.kernel, KroneckerEdges):
            raise ValueError(
                f"standard deviations are not known for pairwise_kernel={settings.pairwise_kernel!r}; use the "
                "Kronecker kernel of the relation (pairwise_kernel=None)"
            )
        self.settings, self.model, self.evidence, self.prepare = settings, model, evidence, prepare
        self.relation, self.alpha = settings.relation, settings.alpha
        # The logistic loss is approximated by weighted least squares at the solution (Laplace).
        self.loss = settings.loss if settings.loss.is_quadratic else REGRESSION

    @property
    def noise_std(self) -> float | None:
        """σ, the standard deviation of the noise of a label of weight one; None for the logistic loss."""
        return float(self.evidence.noise_variance) ** 0.5 if self.settings.loss.is_quadratic else None

    @property
    def scale(self) -> float:
        """σ/√λ: the standard deviation, before any label, of the score of a pair with k̄(p, p) = 1."""
        return (float(self.evidence.noise_variance) / self.alpha) ** 0.5

    @property
    def way(self) -> str:
        """How variances are computed; for many pairs draws may replace what is stated first."""
        most = self.most_pairs
        if most is None:
            return self.engine.way
        error = 100 / (2 * N_DRAWS) ** 0.5
        stated = f"{self.engine.way}; {N_DRAWS} draws (standard deviations ±{error:.0f} %) for more than {most:,} pairs"
        if not self._estimates:
            return stated
        if self.engine.n_blocks > 1:
            return f"{stated} or differences"
        few = f"one step by formula and {FIRST_DRAWS} to {N_DRAWS} draws (±{100 * MOST_ERROR:.0f} % or less)"
        return f"{stated}, {few} for more than {most:,} aligned pairs or differences"

    @property
    def _estimates(self) -> bool:
        """Whether single pairs and differences are estimated too, if they are many: by iterations on the weights.

        Over edges, a draw would need the prior of all nodes that are asked for together.
        """
        return type(self.engine) is SolvedPosterior

    @property
    def most_pairs(self) -> int | None:
        """The number of pairs above which variances are estimated from draws; None if they never are."""
        if isinstance(self.engine, CompletePosterior):
            return None
        size = self.engine.n_factorised
        return N_DRAWS if size is None else max(N_DRAWS, int(EXACT_MOST_FLOPS / size**2))

    @property
    def is_iterative(self) -> bool:
        """Whether every further variance, and every draw, takes an iteration."""
        return not isinstance(self.engine, CompletePosterior) and self.engine.n_factorised is None

    @cached_property
    def engine(self) -> Any:
        """What solves with H: closed forms, a factor of it, or iterations."""
        model, edges = self.model, self.evidence.edges
        if edges is None:
            return CompletePosterior(self.relation, self.loss, model.rows, model.cols, self.alpha)
        weights = loss_weights(edges, model, self.settings)
        if isinstance(model, EdgeModel):
            factorised = edges.n_pairs <= FACTORISED_MOST
            K, G = (side.K.astype(np.float64, copy=False) for side in (model.rows, model.cols))
            G = K if model.cols is model.rows else G
            return EdgePosterior(self.relation, self.loss, K, G, edges, weights, self.alpha, factorised)
        edges = Edges(edges.sources, edges.indices, edges.values, weights, edges.shape)
        if isinstance(model, ComparedModel):
            system: PrimalSystem = ComparedSystem(self.loss, model.rows, edges, model.compared)
        else:
            system = PrimalSystem(self.relation, self.loss, model.rows, model.cols, edges)
        p = FactorisedPosterior.n_weights(system)
        if edges.n_pairs <= min(p, FACTORISED_MOST) and not isinstance(model, ComparedModel):
            Z = system.Z.astype(np.float64, copy=False)
            Z_objects = system.Z_objects.astype(np.float64, copy=False)
            K = Z @ Z.T
            G = K if model.cols is model.rows else Z_objects @ Z_objects.T
            return EdgePosterior(self.relation, self.loss, K, G, edges, edges.weights, self.alpha, True)
        if p <= FACTORISED_MOST:
            return FactorisedPosterior(system, self.alpha)
        return SolvedPosterior(system, self.alpha)

    @cached_property
    def spaces(self) -> tuple[Space, Space]:
        """The coordinates of both sides."""
        model, over_edges = self.model, isinstance(self.engine, EdgePosterior)
        compared = model.compared if isinstance(model, ComparedModel) else ()
        rows = replace(Space.of(model.rows, self.settings.clip, compared, over_edges), prepare=self.prepare[0])
        if model.cols is model.rows:
            return rows, rows
        cols = Space.of(model.cols, self.settings.clip, compared, over_edges)
        return rows, replace(cols, prepare=self.prepare[1])

    def prepared(self, rows: Any, cols: Any) -> Posterior:
        """The same posterior for nodes that are prepared first: conditioning nodes and objects by a function each."""
        return Posterior(self.settings, self.model, self.evidence, (rows, cols))

    def place(self, first: Nodes | None, second: Nodes | None) -> tuple[Placed, Placed]:
        """Conditioning nodes and objects with their coordinates; None means the training nodes."""
        u = self.spaces[0].place(first)
        same = self.spaces[1] is self.spaces[0] and second is first
        return u, u if same else self.spaces[1].place(second)

    def variances(self, first: Nodes | None, second: Nodes | None) -> np.ndarray:
        """Variances of all pairs, (n_first, n_second)."""
        engine, sigma2 = self.engine, self.evidence.noise_variance
        v = self.spaces[1].place(second)
        same = self.spaces[0] is self.spaces[1] and second is first
        u = v if same else self.spaces[0].place(first)
        if isinstance(engine, CompletePosterior):
            out: Any = None
            for block in row_blocks(len(u), len(v)):
                part = u if block.stop - block.start == len(u) else u.take(block)
                found = engine.all_pairs(part.rows, v.rows)
                rest = own_rest(self.relation.sign, part, v)
                if isinstance(rest, np.ndarray):
                    found += rest / self.alpha
                found *= sigma2
                if len(part) == len(u):
                    return np.maximum(found, 0.0, out=found)
                out = np.empty((len(u), len(v))) if out is None else out
                np.maximum(found, 0.0, out=out[block])
            return np.empty((len(u), len(v))) if out is None else out
        n_pairs = len(u) * len(v)
        if self.most_pairs is not None and n_pairs > self.most_pairs:
            total = np.zeros((len(u), len(v)))
            for scores in self.draws(u, v, N_DRAWS, np.random.default_rng(0)):
                total += scores**2
            return total / N_DRAWS
        i, j = (places.ravel() for places in np.indices((len(u), len(v))))
        out = np.empty(n_pairs)
        for block in row_blocks(n_pairs, 1, budget=BLOCK):
            out[block] = self._quadratic(Functionals.pairs(self.relation, u.take(i[block]), v.take(j[block])))
        return out.reshape(len(u), len(v))

    def quadratic(self, asked: Functionals) -> np.ndarray:
        """Variances of functionals, (P,): of many, by iterations on the weights, from draws that serve all of them."""
        blocks = row_blocks(len(asked), 1, budget=BLOCK)
        if self._estimates and self.most_pairs is not None and len(asked) > self.most_pairs:
            return self._estimate(asked, blocks)
        parts = [self._quadratic(asked.block(block)) for block in blocks]
        return np.concatenate(parts) if parts else np.empty(0)

    def _estimate(self, asked: Functionals, blocks: Iterable[slice]) -> np.ndarray:
        found = self.engine.estimate(asked, N_DRAWS, np.random.default_rng(0))
        for block in blocks:
            found[block] += asked.block(block).own_rest() / self.alpha  # known exactly, so it is not drawn
        return found * self.evidence.noise_variance

    def _quadratic(self, asked: Functionals) -> np.ndarray:
        prior = asked.own_rest() / self.alpha
        found = self.engine.quadratic(asked, prior) + prior
        return np.maximum(found, 0.0) * self.evidence.noise_variance

    def gram(self, asked: Functionals) -> np.ndarray:
        """Covariances of functionals, (P, P)."""
        return (self.engine.gram(asked) + asked.rest() / self.alpha) * self.evidence.noise_variance

    def pair_variances(self, first: Nodes, second: Nodes) -> np.ndarray:
        """Variances of aligned pairs, (n_pairs,)."""
        return self.quadratic(Functionals.pairs(self.relation, *self.place(first, second)))

    def pair_covariances(self, first: Nodes, second: Nodes) -> np.ndarray:
        """Covariances of aligned pairs, (n_pairs, n_pairs)."""
        return self.gram(Functionals.pairs(self.relation, *self.place(first, second)))

    def difference_variances(self, queries: Nodes, first: Nodes, second: Nodes) -> np.ndarray:
        """Variances of the score of ``first[i]`` minus that of ``second[i]`` for ``queries[i]``, (n,)."""
        u, a = self.place(queries, first)
        return self.quadratic(Functionals.differences(self.relation, u, a, self.spaces[1].place(second)))

    def strength_variances(self, nodes: Nodes) -> np.ndarray:
        """Variances of the strengths of nodes, the scores against the constant alone, (n,).

        Compared features have no part in strengths.
        """
        u = replace(self.spaces[0].place(nodes), x=None)
        constant = self.spaces[1].constant().take(np.zeros(len(u), dtype=np.intp))
        asked = Functionals.pairs(self.relation, u, constant)
        if isinstance(self.model, ComparedModel):
            zero = np.zeros((len(self.model.compared), len(u)))
            asked = Functionals.pairs(self.relation, replace(u, x=zero), replace(constant, x=zero))
        return self.quadratic(asked)

    def draws(self, u: Placed, v: Placed, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Scores of all pairs around their mean, (n_u, n_v), n times."""
        sigma = float(self.evidence.noise_variance) ** 0.5
        for scores in draw_scores(self.engine, self.relation, self.alpha, u, v, n, rng):
            yield sigma * scores
