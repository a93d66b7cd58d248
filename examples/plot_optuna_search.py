"""
Search kernel and regularisation with Optuna
============================================

An Optuna study over λ (the regularisation) and the width of an RBF kernel. Cross-validation in setting 4 judges each
trial: both the conditioning nodes (the nodes we rank for) and the objects of a test graph are new. Folds are scored on
single games, which are noisy. The test graph has the winning probabilities, so its loss is lower. Needs
``pip install optuna``.
"""

import optuna

from condrank import ConditionalRanker
from condrank.datasets import make_rock_paper_scissors
from condrank.model_selection import cross_validate

train, test = make_rock_paper_scissors(10.0, n_players=60, n_games=1500, random_state=0)


def make_ranker(params):
    """The ranker of a trial."""
    return ConditionalRanker(relation="reciprocal", loss="regression", kernel="rbf", **params)


def loss(trial):
    """Mean rank loss over the folds, which are the same for every trial."""
    params = {
        "alpha": trial.suggest_float("alpha", 1e-2, 1e2, log=True),
        "gamma": trial.suggest_float("gamma", 1e-2, 1e2, log=True),
    }
    return cross_validate(make_ranker(params), train, setting=4, cv=3).mean()


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(loss, n_trials=20)
best = make_ranker(study.best_params).fit(train)
print(f"{study.best_params}: rank loss {study.best_value:.3f} in cross-validation, {1 - best.score(test):.3f} in test")

# %%
# All trials in one picture: dark points are good.

import matplotlib.pyplot as plt  # noqa: E402

trials = study.trials_dataframe()
plt.scatter(trials["params_alpha"], trials["params_gamma"], c=trials["value"], cmap="viridis")
plt.xscale("log")
plt.yscale("log")
plt.xlabel("λ")
plt.ylabel("γ")
plt.colorbar(label="rank loss, setting 4")
plt.show()
