"""`AutoShardDataset` divides the files that a dataset reads, and else its elements."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capstan as tf
from capstan.python.data.experimental.ops import distribute

Make = Callable[[list[str]], Any]

WHOLE_FILES: dict[str, Make] = {
    "a reader": lambda names: tf.data.TextLineDataset(names),
    "a reader of a dataset": lambda names: tf.data.TextLineDataset(
        tf.data.Dataset.from_tensor_slices(names)
    ),
    "flat_map": lambda names: tf.data.Dataset.from_tensor_slices(names).flat_map(
        tf.data.TextLineDataset
    ),
    "interleave": lambda names: tf.data.Dataset.from_tensor_slices(names).interleave(
        tf.data.TextLineDataset, cycle_length=2
    ),
    "listed": lambda names: tf.data.Dataset.list_files(
        str(Path(names[0]).parent / "*.txt"), shuffle=False
    ).flat_map(tf.data.TextLineDataset),
    "further": lambda names: (
        tf.data.TextLineDataset(names)
        .map(lambda x: tf.strings.join([x]))
        .filter(lambda x: tf.not_equal(x, ""))
        .shuffle(100)
        .batch(2)
        .prefetch(1)
    ),
    "zip": lambda names: tf.data.Dataset.zip(
        (tf.data.TextLineDataset(names), tf.data.TextLineDataset(names))
    ).map(lambda x, y: x),
}
"""Datasets whose files are divided."""

ELEMENTS: dict[str, Make] = {
    "no files": lambda names: tf.data.Dataset.from_tensor_slices(
        [f"{place} {line}" for place in range(4) for line in range(3)]
    ),
    "scan": lambda names: tf.data.TextLineDataset(names).apply(
        tf.data.experimental.scan(0, lambda state, x: (state + 1, x))
    ),
}
"""Datasets whose elements are divided."""


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    """Return the names of four files of three lines, which say their file."""
    found = [tmp_path / f"{place}.txt" for place in range(4)]
    for place, path in enumerate(found):
        path.write_text("".join(f"{place} {line}\n" for line in range(3)))
    return [str(path) for path in found]


def lines_of(dataset: Any, workers: int, index: int, policy: int = 0) -> list[str]:
    """Return the lines of the part of a worker."""
    types = tf.data.get_output_types(dataset), tf.data.get_output_shapes(dataset)
    part = tf.raw_ops.AutoShardDataset(
        input_dataset=dataset._variant_tensor,
        num_workers=workers,
        index=index,
        auto_shard_policy=policy,
        output_types=[types[0]],
        output_shapes=[types[1]],
    )
    iterator = tf.data.Iterator.from_structure(*types)
    begin = tf.raw_ops.MakeIterator(dataset=part, iterator=iterator._iterator_resource)
    following = tf.reshape(iterator.get_next(), [-1])
    found: list[str] = []
    with tf.Session() as session:
        session.run(begin)
        while True:
            try:
                found += [line.decode() for line in session.run(following)]
            except tf.errors.OutOfRangeError:
                return found


def lines(*places: int) -> list[str]:
    return [f"{place} {line}" for place in places for line in range(3)]


@pytest.mark.parametrize("policy", [0, 1])
@pytest.mark.parametrize("name", WHOLE_FILES)
def test_a_worker_reads_its_files(names: list[str], name: str, policy: int) -> None:
    for index, own in ((0, (0, 3)), (1, (1,)), (2, (2,))):
        found = lines_of(WHOLE_FILES[name](names), 3, index, policy)
        assert sorted(found) == lines(*own)


@pytest.mark.parametrize("name", ELEMENTS)
def test_a_worker_keeps_its_elements(names: list[str], name: str) -> None:
    make = ELEMENTS[name]
    assert lines_of(make(names), 3, 1) == lines(0, 1, 2, 3)[1::3]
    with pytest.raises(tf.errors.NotFoundError, match="Found an unshardable source dataset"):
        lines_of(make(names), 3, 1, policy=1)


@pytest.mark.parametrize("policy", [2, -1])
def test_other_policies_do_not_divide_files(names: list[str], policy: int) -> None:
    found = lines_of(tf.data.TextLineDataset(names), 3, 0, policy)
    assert found == (lines(0, 1, 2, 3) if policy == -1 else lines(0, 1, 2, 3)[::3])


@pytest.mark.parametrize("seed", range(3))
def test_names_are_shuffled_after_they_are_divided(names: list[str], seed: int) -> None:
    shuffled = tf.data.Dataset.from_tensor_slices(names).shuffle(4, seed=seed)
    lines_read = shuffled.flat_map(tf.data.TextLineDataset)
    assert sorted(lines_of(lines_read, 2, 1)) == lines(1, 3)


@pytest.mark.parametrize("name", ["a reader", "flat_map"])
def test_each_worker_must_have_a_file(names: list[str], name: str) -> None:
    make = WHOLE_FILES[name]
    for index in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"# elems = 2, # shards = 3"):
            lines_of(make(names[:2]), 3, index)
    assert lines_of(make(names[:2]), 3, 2) == []


def elements(dataset: Any) -> list[Any]:
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.Session() as session, contextlib.suppress(tf.errors.OutOfRangeError):
        while True:
            found.append(session.run(following).tolist())
    return found


def test_a_program_may_import_the_datasets_of_workers_and_replicas() -> None:
    numbers = tf.data.Dataset.range(10)
    assert elements(distribute._AutoShardDatasetV1(numbers, 3, 1)) == [1, 4, 7]
    parts = distribute._RebatchDataset(numbers.batch(4), 2)
    assert elements(parts) == [[0, 1], [2, 3], [4, 5], [6, 7], [8], [9]]
    assert parts.output_shapes.as_list() == [None]
    whole = numbers.batch(4, drop_remainder=True)
    assert distribute._RebatchDataset(whole, 2).output_shapes.as_list() == [2]
    assert distribute._RebatchDataset(whole, 3).output_shapes.as_list() == [None]
    with pytest.raises(ValueError, match="not batched"):
        distribute._RebatchDataset(numbers, 2)
