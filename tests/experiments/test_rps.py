"""Rock-paper-scissors has the paper's numbers."""

from experiment_modules import module


def test_rps_has_the_papers_eighteen_numbers(tmp_path, experiments):
    rps = module("rps")
    assert [len(row) for row in rps.PAPER.values()] == [6, 6, 6]
    results = module("results")
    one = experiments.load_experiments()["rps"]
    rows = [row for row in one.run(results.Run(quick=True, repetitions=2)) if isinstance(row, results.Row)]
    assert [row.paper for row in rows if row.paper is not None] == [x for row in rps.PAPER.values() for x in row]
    assert {row.method for row in rows if row.paper is None} == {"logistic (r)"}
    assert all(row.note.startswith("seeds 0 to 1") for row in rows)
