"""Stored approximate indexes with random changes and right checksums: each is refused or answers, and none crashes."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("faiss")


@pytest.mark.parametrize(("seed", "count"), [(0, 60), pytest.param(1, 400, marks=pytest.mark.slow)])
def test_a_changed_file_is_refused_or_answers(seed, count, tmp_path):
    script = Path(__file__).with_name("changed_files.py")
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(script), str(seed), str(count), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    refused, answered = map(int, ran.stdout.split())
    assert refused + answered == count
    assert min(refused, answered) > count // 10, "the changes should reach both"
