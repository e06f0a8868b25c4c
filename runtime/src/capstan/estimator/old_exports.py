"""Filters that choose exported models by their version, such as the five newest.

A filter takes a list of paths and returns some of them, sorted. A path has a folder and the number
that a parser has read from the name of the folder. The filters leave out paths without a number.
TensorFlow calls the functions `_largest_export_versions` and so on: `python.estimator.gc` has them
under these names.

Source: tensorflow/python/estimator/gc.py.
"""

import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from capstan.api import file_io


class Path(NamedTuple):
    """The folder of a model and its version, which is an int or None."""

    path: str
    export_version: Any


Filter = Callable[[list[Path]], list[Path]]


def largest_export_versions(n: int) -> Filter:
    """Return the filter that keeps the `n` largest versions, of equal ones the last, sorted."""

    def keep(paths: list[Path]) -> list[Path]:
        in_order = sorted(_numbered(paths), key=_version)
        return sorted(in_order[max(len(in_order) - n, 0) :])

    return keep


def one_of_every_n_export_versions(n: int) -> Filter:
    """Return the filter that keeps the largest version of each interval of `n` numbers.

    Intervals end at multiples of `n`: with 3, versions 1 to 3 are one interval, with version 0. The
    first of equal versions wins.
    """

    def keep(paths: list[Path]) -> list[Path]:
        largest: dict[int, Path] = {}
        for path in sorted(_numbered(paths), key=_version, reverse=True):
            version = path.export_version
            largest.setdefault(math.floor((version - 1) / n) if version else 0, path)
        return sorted(largest.values())

    return keep


def mod_export_version(n: int) -> Filter:
    """Return the filter that keeps the versions that `n` divides."""
    return lambda paths: sorted(each for each in _numbered(paths) if each.export_version % n == 0)


def union(first: Filter, second: Filter) -> Filter:
    """Return the filter that keeps what either of two filters keeps."""
    return lambda paths: sorted({*first(paths), *second(paths)})


def negation(inner: Filter) -> Filter:
    """Return the filter that keeps what another filter leaves out."""
    return lambda paths: sorted({*paths} - {*inner(paths)})


def get_paths(base_dir: str, parser: Callable[[Path], Path | None]) -> list[Path]:
    """Return the paths in a folder, sorted.

    `parser` gets a path without a version. It returns the path with a version, or None to leave the
    path out.
    """
    parsed = (
        parser(Path(os.path.join(base_dir, name.rstrip("/")), None))
        for name in file_io.list_directory(base_dir)
    )
    return sorted(path for path in parsed if path)


def _numbered(paths: list[Path]) -> list[Path]:
    return [each for each in paths if each.export_version is not None]


def _version(path: Path) -> Any:
    return path.export_version
