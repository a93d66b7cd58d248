"""Files with names, as in ``--view assay=assay.csv``."""

from __future__ import annotations

import os
import re

from condrank.cli.terminal import fail

NAMED = re.compile(r"([^=./\\\s]+)=(.+)")


def named_files(given: list[str] | None, option: str) -> dict[str, str] | None:
    """Files by name; a file without a name, and a name given twice, are refused."""
    if not given:
        return None
    files: dict[str, str] = {}
    for one in given:
        found = NAMED.fullmatch(one)
        if found is None:
            fail(f"{option}: write NAME=FILE, such as {option} assay=assay.csv, got {one!r}", 2)
        if found[1] in files:
            fail(f"{option}: the name {found[1]!r} was given twice, for {files[found[1]]} and {found[2]}", 2)
        files[found[1]] = found[2]
    return files


def check_matrices(given: list[str] | None, option: str) -> str | dict[str, str] | None:
    """One file without a name, or several with names."""
    if not given:
        return None
    plain = [one for one in given if NAMED.fullmatch(one) is None or os.path.exists(one)]
    if not plain:
        return named_files(given, option)
    if len(given) > 1:
        fail(f"{option} was given {len(given)} times: give every matrix a name, {option} NAME=FILE", 2)
    return plain[0]
