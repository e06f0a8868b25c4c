"""AutoShardDataset gives each worker the files or the elements that TensorFlow gives it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

Make = Callable[[Any, Any], Any]

MADE: dict[str, Make] = {
    "a reader of a dataset": lambda tf, names: tf.data.TextLineDataset(names),
    "flat_map": lambda tf, names: names.flat_map(tf.data.TextLineDataset),
    "interleave": lambda tf, names: names.interleave(tf.data.TextLineDataset, cycle_length=2),
    "nested": lambda tf, names: names.flat_map(
        lambda name: tf.data.Dataset.from_tensors(name).flat_map(tf.data.TextLineDataset)
    ),
    "shuffled": lambda tf, names: names.shuffle(9, seed=3, reshuffle_each_iteration=False).flat_map(
        tf.data.TextLineDataset
    ),
    "shuffled twice": lambda tf, names: (
        names.shuffle(9, seed=3, reshuffle_each_iteration=False)
        .map(lambda name: name)
        .shuffle(2, seed=7, reshuffle_each_iteration=False)
        .flat_map(tf.data.TextLineDataset)
    ),
    "further": lambda tf, names: (
        tf.data.TextLineDataset(names)
        .map(lambda x: tf.strings.join([x, "!"]))
        .filter(lambda x: tf.not_equal(x, "0 1!"))
        .batch(2)
        .repeat(2)
        .prefetch(1)
    ),
    "padded": lambda tf, names: tf.data.TextLineDataset(names).padded_batch(2, []).skip(1).take(2),
    "concatenated": lambda tf, names: tf.data.TextLineDataset(names).concatenate(
        tf.data.TextLineDataset(names)
    ),
    "no files": lambda tf, names: names,
    "scan": lambda tf, names: tf.data.TextLineDataset(names).apply(
        tf.data.experimental.scan(np.int64(0), lambda state, x: (state + 1, x))
    ),
    "unbatch": lambda tf, names: (
        tf.data.TextLineDataset(names).batch(2).apply(tf.data.experimental.unbatch())
    ),
}


def read(tf: Any, make: Make, names: list[str], workers: int, index: int, policy: int) -> Any:
    """Return what a worker reads, up to the end or an error."""
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = make(tf, tf.data.Dataset.from_tensor_slices(names))
        kinds = [tf.data.get_output_types(dataset)], [tf.data.get_output_shapes(dataset)]
        options = {"output_types": kinds[0], "output_shapes": kinds[1]}
        part = tf.raw_ops.AutoShardDataset(
            input_dataset=dataset._variant_tensor,
            num_workers=np.int64(workers),
            index=np.int64(index),
            auto_shard_policy=policy,
            **options,
        )
        iterator = tf.raw_ops.IteratorV2(shared_name="part", container="", **options)
        begin = tf.raw_ops.MakeIterator(dataset=part, iterator=iterator)
        (following,) = tf.raw_ops.IteratorGetNext(iterator=iterator, **options)
        found: list[Any] = []
        try:
            session.run(begin)
            while len(found) < 99:
                found.append(np.asarray(session.run(following)).tolist())
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
    return found


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    found = [tmp_path / f"{place}.txt" for place in range(5)]
    for place, path in enumerate(found):
        path.write_text("".join(f"{place} {line}\n" for line in range(3)))
    return [str(path) for path in found]


@pytest.mark.parametrize("policy", [0, 1, 2, -1])
@pytest.mark.parametrize("name", MADE)
def test_workers_read_their_parts(v1: Any, names: list[str], name: str, policy: int) -> None:
    for index in range(2):
        expected = read(v1, MADE[name], names, 2, index, policy)
        assert read(capstan, MADE[name], names, 2, index, policy) == expected


@pytest.mark.parametrize("name", ["flat_map", "further", "no files"])
def test_the_only_worker_reads_all(v1: Any, names: list[str], name: str) -> None:
    expected = read(v1, MADE[name], names, 1, 0, 0)
    assert read(capstan, MADE[name], names, 1, 0, 0) == expected


@pytest.mark.parametrize("name", ["flat_map", "no files"])
def test_a_worker_without_a_file_ends_the_others(v1: Any, names: list[str], name: str) -> None:
    for index in range(3):
        expected = read(v1, MADE[name], names[:2], 3, index, 0)
        assert read(capstan, MADE[name], names[:2], 3, index, 0) == expected
