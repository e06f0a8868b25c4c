"""Filters choose exported models by their version."""

import pathlib

import pytest

from capstan.estimator import old_exports
from capstan.estimator.old_exports import Filter, Path

VERSIONS = (5, 12, 3, 4, 0)
PATHS = [Path(f"model-{version:02}", version) for version in VERSIONS] + [Path("notes", None)]


@pytest.mark.parametrize(
    "keep, kept",
    [
        (old_exports.largest_export_versions(2), [5, 12]),
        (old_exports.largest_export_versions(9), [0, 3, 4, 5, 12]),
        (old_exports.one_of_every_n_export_versions(3), [3, 5, 12]),
        (old_exports.mod_export_version(3), [0, 3, 12]),
        (
            old_exports.union(
                old_exports.mod_export_version(5), old_exports.largest_export_versions(1)
            ),
            [0, 5, 12],
        ),
    ],
)
def test_a_filter_keeps_versions(keep: Filter, kept: list[int]) -> None:
    assert [path.export_version for path in keep(PATHS)] == kept
    others = old_exports.negation(keep)(PATHS)
    assert {*others} == {path for path in PATHS if path.export_version not in kept}


def test_versions_are_compared_as_numbers_and_not_by_their_folders() -> None:
    paths = [Path("b", 1), Path("a", 10)]
    assert old_exports.largest_export_versions(1)(paths) == [Path("a", 10)]


def test_of_equal_versions_a_filter_keeps_the_one_that_tensorflow_keeps() -> None:
    paths = [Path("a", 4), Path("b", 4), Path("c", 1)]
    assert old_exports.largest_export_versions(1)(paths) == [Path("b", 4)]
    assert old_exports.one_of_every_n_export_versions(3)(paths) == [Path("a", 4), Path("c", 1)]


def test_a_parser_reads_the_versions_of_a_folder(tmp_path: pathlib.Path) -> None:
    for name in ("7", "10", "temporary"):
        (tmp_path / name).mkdir()

    def parser(path: Path) -> Path | None:
        name = pathlib.Path(path.path).name
        return path._replace(export_version=int(name)) if name.isdigit() else None

    found = old_exports.get_paths(str(tmp_path), parser)
    assert found == [Path(str(tmp_path / "10"), 10), Path(str(tmp_path / "7"), 7)]
