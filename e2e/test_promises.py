"""The page of promises names tests that exist, for each part of the reference of TrainingJobs."""

import ast
import functools
import pathlib
import re

import pytest

from conftest import ROOT

PROMISES = ROOT / "docs/reference/promises.md"
REFERENCE = ROOT / "docs/reference/trainingjob.md"
ROW = re.compile(
    r"^\| (?P<promise>[^|]+) \| (?P<level>[^|]+) \| `(?P<test>[^`]+)` \|$", re.MULTILINE
)
LEVELS = {
    "operator/tests/": "Values",
    "runtime/tests/": "Runtime",
    "e2e/nodes/": "Nodes",
    "e2e/": "Control plane",
}
"""The level of the tests in a folder. The first folder that matches counts."""


def sections(page: pathlib.Path) -> dict[str, str]:
    """Return the text under each heading of the second level."""
    _, *parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {heading: text for heading, _, text in (part.partition("\n") for part in parts)}


@functools.cache
def names(file: pathlib.Path) -> set[str]:
    """Return the names that a module defines: its functions, its classes and its assignments."""
    found: set[str] = set()
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
    return found


@pytest.mark.parametrize("heading", sections(REFERENCE))
def test_each_part_of_the_reference_has_promises_with_tests_that_exist(heading: str) -> None:
    text = sections(PROMISES)[heading]
    rows = list(ROW.finditer(text))
    assert rows
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == len(table) - 2, "a row of the table has another form"
    for row in rows:
        path, _, name = row["test"].partition("::")
        assert (ROOT / path).is_file(), f"{path} does not exist: name the file of the test"
        assert name in names(ROOT / path), f"{path} has no {name}: name another test"
        level = next(level for folder, level in LEVELS.items() if path.startswith(folder))
        assert row["level"] == level


def test_no_promise_is_listed_twice() -> None:
    promises = [row["promise"] for row in ROW.finditer(PROMISES.read_text(encoding="utf-8"))]
    assert promises
    assert len(promises) == len(set(promises))
