"""Pages and cells of tables."""

import pytest

from experiment_modules import module


def test_index_is_read_from_the_files(tmp_path, experiments):
    experiments.load_experiments()
    (tmp_path / "rps.csv").write_text("verdict,seconds\nsame,1\nsame,2\nworse,\n,4\n", encoding="utf-8")
    page = module("report").index(tmp_path)
    assert page.splitlines()[-1] == "| [Rock-paper-scissors](rps.md) | 2 | 0 | 1 | 1 | 7 s |"


@pytest.mark.parametrize(
    ("value", "told"), [(0.25, ".25"), (10.05, "10.05"), (20.0, "20"), (0.0, "0"), (1.05, "1.05"), (1e-5, "1e-05")]
)
def test_numbers_in_cells_have_no_leading_zero(value, told):
    cells = module("report").cells_of(module("results").Row("", "", "", value, value, value))
    assert (cells["ours"], cells["paper"]) == (told, told)
    assert float(cells["± s.e."]) == pytest.approx(value, rel=0.05)
