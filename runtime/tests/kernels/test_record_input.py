"""RecordInput draws records at random, and goes on where the last step of the session ended."""

import pathlib
from typing import Any

import pytest

import capstan as tf
from capstan.core import tfrecord
from capstan.python.ops import data_flow_ops

RECORDS = [b"%d" % number for number in range(20)]


@pytest.fixture
def pattern(tmp_path: pathlib.Path) -> str:
    for first in range(4):
        content = b"".join(map(tfrecord.encode, RECORDS[first::4]))
        (tmp_path / f"part-{first}").write_bytes(content)
    return f"{tmp_path}/part-*"


def read(steps: list[Any], count: int) -> list[bytes]:
    """Return the records of all steps in turn."""
    with tf.Session() as session:
        return [record for _ in range(count) for step in steps for record in session.run(step)]


def test_the_seed_gives_the_order(pattern: str) -> None:
    orders = [
        read([data_flow_ops.RecordInput(pattern, 5, 8, 2, 0.5, seed).get_yield_op()], 8)
        for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0][:20] != orders[0][20:]
    for order in orders:
        assert sorted(order[:20]) == sorted(order[20:]) == sorted(RECORDS)


def test_steps_with_other_fetches_share_an_epoch(pattern: str) -> None:
    records = data_flow_ops.RecordInput(pattern, 5).get_yield_op()
    assert sorted(read([records, tf.strings.join([records, ""])], 2)) == sorted(RECORDS)


def test_a_file_without_records_and_a_damaged_file_are_errors(tmp_path: pathlib.Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "damaged").write_bytes(tfrecord.encode(b"abc")[:-1] + b"?")
    with tf.Session() as session:
        empty = data_flow_ops.RecordInput(f"{tmp_path}/empty").get_yield_op()
        with pytest.raises(tf.errors.NotFoundError, match="Found no records at"):
            session.run(empty)
        damaged = data_flow_ops.RecordInput(f"{tmp_path}/damaged").get_yield_op()
        for _ in range(2):
            with pytest.raises(tf.errors.DataLossError):
                session.run(damaged)


def test_wrong_attributes_are_refused(pattern: str) -> None:
    with tf.Session() as session:
        for options, message in (
            ({"batch_size": -1}, "batch_size must be >= 0 not -1"),
            ({"compression_type": "LZ4"}, "compression_type must be one of"),
        ):
            step = tf.raw_ops.RecordInput(file_pattern=pattern, **options)
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(step)
    with pytest.raises(ValueError, match="LZ4"):
        data_flow_ops.RecordInput(pattern, compression_type="LZ4")
