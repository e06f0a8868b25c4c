"""RecordInput yields the records of TensorFlow's RecordInput in each epoch."""

import pathlib
import zlib
from collections import Counter
from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.core import tfrecord
from capstan.python.ops import data_flow_ops

pytestmark = genuine.MARKS

RECORDS = [b"%d" % number for number in range(12)]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for first in range(3):
        content = b"".join(map(tfrecord.encode, RECORDS[first::3]))
        (tmp_path / f"part-{first}").write_bytes(content)
        (tmp_path / f"packed-{first}").write_bytes(zlib.compress(content))
    return tmp_path


def both(v1: Any) -> list[tuple[Any, Any]]:
    from tensorflow.python.ops import data_flow_ops as genuine_ops

    return [(v1, genuine_ops), (capstan, data_flow_ops)]


def steps(tf: Any, build: Any, count: int) -> list[Any]:
    with tf.Graph().as_default():
        fetched = build()
        with tf.Session() as session:
            return [session.run(fetched) for _ in range(count)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"buffer_size": 4, "parallelism": 2},
        {"buffer_size": 100, "parallelism": 5, "shift_ratio": 0.4, "seed": 7},
        {"compression_type": 1},
    ],
)
def test_each_record_comes_once_in_an_epoch(
    v1: Any, folder: pathlib.Path, options: dict[str, Any]
) -> None:
    pattern = f"{folder}/packed-*" if options.get("compression_type") else f"{folder}/part-*"
    for tf, of in both(v1):
        source = of.RecordInput(pattern, batch_size=4, **options)
        found = steps(tf, source.get_yield_op, 9)
        assert all(batch.shape == (4,) for batch in found)
        for epoch in range(3):
            assert sorted(np.concatenate(found[3 * epoch :][:3])) == sorted(RECORDS)


def test_patterns_are_joined_by_commas_and_batches_are_lists_of_scalars(
    v1: Any, folder: pathlib.Path
) -> None:
    for tf, of in both(v1):
        source = of.RecordInput(
            f"{folder}/part-0,{folder}/part-1", batch_size=2, batches=4, name="records"
        )
        (batches,) = steps(tf, source.get_yield_op, 1)
        assert [len(batch) for batch in batches] == [2, 2, 2, 2]
        flat = [record for batch in batches for record in batch]
        assert Counter(flat) == Counter(RECORDS[0::3] + RECORDS[1::3])


def test_a_pattern_without_files_is_an_error(v1: Any, folder: pathlib.Path) -> None:
    for tf, of in both(v1):
        source = of.RecordInput(f"{folder}/none-*")
        with pytest.raises(tf.errors.NotFoundError, match="Found no files at"):
            steps(tf, source.get_yield_op, 1)
