"""Pokémon on a few generated battles."""

import numpy as np

from experiment_modules import module


def test_pokemon_search_is_no_worse_than_one_kernel(tmp_path, experiments):
    rng = np.random.default_rng(0)
    n, stats = 80, rng.integers(20, 120, size=(80, 6))
    first, second = rng.integers(0, n, size=(2, 4000))
    first, second = first[first != second], second[first != second]
    (tmp_path / "pokemon").mkdir()
    np.savez(
        tmp_path / "pokemon/pokemon.npz",
        stats=stats,
        stat_names=np.array(["HP", "Attack", "Defense", "Sp. Atk", "Sp. Def", "Speed"]),
        types=rng.integers(0, 2, size=(n, 18)),
        type_names=np.array([f"type {i}" for i in range(18)]),
        generation=np.ones(n, int),
        legendary=np.zeros(n, bool),
        names=np.array([f"p{i}" for i in range(n)]),
        first=first,
        second=second,
        first_wins=stats[first, 5] > stats[second, 5],
    )
    results = module("results")
    one = experiments.load_experiments()["pokemon"]
    rows = {row.method: row for row in one.run(results.Run(quick=True, data=tmp_path))}
    searched, simple = rows["search"], rows["RBF"]
    assert "constant" in searched.note  # what it found
    assert searched.measured <= simple.measured
    for library in ("LightGBM", "XGBoost"):
        assert f"{library} on pairs" in rows
