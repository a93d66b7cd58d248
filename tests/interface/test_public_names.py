"""Nothing that version 0.1.0 offered is missing: names, parameters, defaults, attributes, commands and options."""

import json
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

from condrank.cli.reproduce import load_package
from fixtures.make_public_names import command_names, describe, help_of, option_names, options, parameters
from fixtures.public_objects import instances

#: What moved, and where to: "condrank.module.Name" or "condrank.module.Class.member" → its dotted name now.
MOVED: dict[str, str] = {
    "condrank.parquet.map_parquet": "condrank.tables.map_parquet",
    "condrank.distributed.rates.measure_rates": "condrank.distributed.measure_rates",
    "condrank.diagnosis.KernelComplexity": "condrank.experiments.theory.KernelComplexity",
    "condrank.diagnosis.LossComparison": "condrank.experiments.theory.LossComparison",
    "condrank.diagnosis.compare_losses": "condrank.experiments.theory.compare_losses",
}
load_package()  # condrank.experiments is a folder of its own in a clone

FIXTURES = Path(__file__).parents[1] / "fixtures"
SNAPSHOT = json.loads((FIXTURES / "public_names.json").read_text(encoding="utf-8"))
MODULES = SNAPSHOT["modules"]
NAMES = [f"{module}.{name}" for module, names in MODULES.items() for name in names]
HELP = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FIXTURES / "help").glob("*.txt"))}
SENTINEL = "<object object>"  # a default that only says that nothing was given


def home(dotted):
    """The module of the snapshot that a dotted name belongs to."""
    return max((module for module in MODULES if dotted.startswith(f"{module}.")), key=len)


def found(dotted):
    """What a dotted name of the snapshot stands for now: where it was, or where it moved to."""
    module = home(dotted)
    try:
        return attrgetter(dotted.removeprefix(f"{module}."))(import_module(module))
    except (AttributeError, ModuleNotFoundError):
        if dotted not in MOVED:
            raise
    module, name = MOVED[dotted].rsplit(".", 1)
    return getattr(import_module(module), name)


def assert_takes(saved, function, what):
    """Every parameter is accepted as it was: by position, by name, with its default. New ones have a default."""
    live = parameters(function)
    by_position = [name for name in saved if name[0] not in "=*"]
    assert [name for name in live if name[0] not in "=*"][: len(by_position)] == by_position, what
    for name, default in saved.items():
        if name.startswith("**"):  # or keywords of their own instead
            assert any((one[0] == "=" and one not in saved) or one.startswith("**") for one in live), f"{what}: {name}"
        elif name.startswith("*"):
            assert any(one[0] == "*" != one[1] for one in live), f"{what}: {name}"
        else:
            now = name if name in live else name.lstrip("=")
            assert now in live, f"{what}: {name}"
            assert (live[now] is not None) if default == SENTINEL else live[now] == default, f"{what}: {name}"
    known = {name.lstrip("=") for name in saved}
    new = [name for name in live if name.lstrip("=") not in known and not name.startswith("*")]
    assert [name for name in new if live[name] is None] == [], what


def test_the_snapshot_is_of_all_public_modules():
    assert len(MODULES) == 15
    assert all(MODULES.values())


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_of_0_1_0_is_listed_by_its_module(module):
    for name in MODULES[module]:
        if f"{module}.{name}" not in MOVED:
            listed = getattr(import_module(module), "__all__", [name])
            assert hasattr(import_module(module), name)
            assert name in listed


@pytest.mark.parametrize("dotted", NAMES)
def test_a_public_name_of_0_1_0_is_what_it_was(dotted):
    module, thing = home(dotted), found(dotted)
    saved, live = MODULES[module][dotted.removeprefix(f"{module}.")], describe(thing)
    assert live["kind"] == saved["kind"]
    assert set(saved.get("keys", [])) <= set(live.get("keys", []))
    assert set(saved.get("bases", [])) <= set(live.get("bases", []))
    if saved["kind"] == "function":
        assert_takes(saved["parameters"], thing, dotted)
    if saved.get("made") is not None:
        assert_takes(saved["made"], thing, dotted)
    for name, member in saved.get("members", {}).items():
        full = f"{dotted}.{name}"
        if full in MOVED:
            assert found(full) is not None
        elif member == "attribute":
            assert live["members"].get(name) == "attribute", full
        else:
            assert_takes(member, getattr(thing, name), full)


@cache
def made():
    return instances()


@pytest.mark.parametrize("name", SNAPSHOT["objects"])
def test_an_object_of_0_1_0_has_the_attributes_that_it_had(name):
    one = made()[name]
    assert [attribute for attribute in SNAPSHOT["objects"][name] if not hasattr(one, attribute)] == []


def test_every_command_of_0_1_0_is_there():
    commands = command_names(HELP["condrank"])
    assert {"condrank", *commands} == set(HELP)
    assert len(commands) == 9
    assert set(commands) <= set(command_names(help_of("")))


@pytest.mark.parametrize("command", HELP)
def test_a_command_of_0_1_0_has_the_options_that_it_had(command):
    saved = option_names(HELP[command])
    assert "--help" in saved
    assert saved <= option_names(help_of("" if command == "condrank" else command))


@pytest.mark.parametrize("command", SNAPSHOT["commands"])
def test_an_option_of_0_1_0_has_its_names_choices_and_default(command):
    live = options(command)
    for name, saved in SNAPSHOT["commands"][command].items():
        assert set(saved["names"]) <= set(live[name]["names"]), name
        assert set(saved["choices"]) <= set(live[name]["choices"]), name
        assert live[name]["default"] == saved["default"], name
