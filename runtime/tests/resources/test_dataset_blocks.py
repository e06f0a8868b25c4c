"""Datasets give the same elements in blocks and one by one."""

import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan import errors
from capstan.core import dtypes, tfrecord
from capstan.resources import (
    dataset,
    dataset_blocks,
    dataset_files,
    dataset_order,
    dataset_run,
    dataset_shuffle,
    dataset_sources,
)

SPEC = dataset.Spec((dtypes.int64, dtypes.string, dtypes.float32), ((), (), (2,)))
TEXTS = dataset.Spec((dtypes.string,), ((),))


def numbered(count: int) -> dataset.Dataset:
    words = np.array([b"%d" % number for number in range(count)], object)
    pairs = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
    return dataset_sources.Slices(SPEC, (np.arange(count), words, pairs))


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def all_of(source: Iterator[tuple[Any, ...]]) -> list[Any]:
    """Return the elements of an iterator, with the texts of its errors."""
    found: list[Any] = []
    while True:
        try:
            # An error leaves the elements before it in the list.
            found += (tuple(map(plain, element)) for element in source)
        except errors.OpError as error:
            found.append(str(error))
        else:
            return found


def rows_of(blocks: Iterator[dataset.Block] | None) -> list[Any]:
    assert blocks is not None
    return all_of(dataset_blocks.Rows(blocks))


@given(
    count=st.integers(0, 12),
    buffer=st.integers(1, 8),
    passes=st.integers(1, 3),
    size=st.integers(1, 5),
    seeds=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    reshuffles=st.booleans(),
)
def test_shuffled_elements_have_the_same_order_in_blocks(
    count: int, buffer: int, passes: int, size: int, seeds: tuple[int, int], reshuffles: bool
) -> None:
    # Epochs follow each other within one shuffled pass, and between several of them.
    inner = dataset_shuffle.Shuffle(SPEC, numbered(count), buffer, seeds, reshuffles, passes)
    plan = dataset_order.Repeat(SPEC, inner, 2)
    one_by_one = all_of(plan.start(dataset_run.Run()))
    blocks = plan.blocks(dataset_run.Run(), size)
    assert blocks is not None
    found = list(blocks)
    assert all(1 <= len(block[0]) <= size for block in found)
    assert rows_of(iter(found)) == one_by_one
    assert sorted(one_by_one) == sorted(
        all_of(numbered(count).start(dataset_run.Run())) * passes * 2
    )


def test_variants_are_shuffled_one_by_one() -> None:
    spec = dataset.Spec((dtypes.variant,), ((),))
    plan = dataset_shuffle.Shuffle(spec, numbered(3), 2, (1, 2))
    assert plan.blocks(dataset_run.Run(), 2) is None


def text_file(path: pathlib.Path, words: list[bytes]) -> None:
    path.write_bytes(b"".join(word + b"\r\n" for word in words))


def record_file(path: pathlib.Path, words: list[bytes]) -> None:
    path.write_bytes(b"".join(map(tfrecord.encode, words)))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("write", "read"),
    [(text_file, dataset_files.lines), (record_file, dataset_files.records)],
)
def test_records_are_the_same_in_blocks(
    write: Callable[[pathlib.Path, list[bytes]], None],
    read: Callable[[str, str], Any],
    size: int,
    tmp_path: pathlib.Path,
) -> None:
    words = [[b"a", b"", b"bc"], [], [b"d"] * 4]
    for number, some in enumerate(words):
        write(tmp_path / str(number), some)
    names = tuple(str(tmp_path / str(number)).encode() for number in (0, 7, 1, 2))
    plan = dataset_files.Files(TEXTS, names, lambda name: read("", name))
    one_by_one = all_of(plan.start(dataset_run.Run()))
    assert [each for each in one_by_one if isinstance(each, tuple)] == [
        (word,) for some in words for word in some
    ]
    assert "7" in one_by_one[3]  # The missing file is an error between the records of the others.
    assert rows_of(plan.blocks(dataset_run.Run(), size)) == one_by_one


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_records_before_a_damaged_one_come_before_the_error(
    size: int, tmp_path: pathlib.Path
) -> None:
    record_file(tmp_path / "damaged", [b"a", b"b", b"c", b"lost"])
    content = bytearray((tmp_path / "damaged").read_bytes())
    content[46] ^= 1  # in the data of the third record
    (tmp_path / "damaged").write_bytes(content)
    record_file(tmp_path / "next", [b"d"])
    names = tuple(str(tmp_path / name).encode() for name in ("damaged", "next"))
    plan = dataset_files.Files(TEXTS, names, lambda name: dataset_files.records("", name))
    expected = [(b"a",), (b"b",), "corrupted record at 46", (b"d",)]
    assert all_of(plan.start(dataset_run.Run())) == expected
    assert rows_of(plan.blocks(dataset_run.Run(), size)) == expected
