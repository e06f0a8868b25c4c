"""Steps that do the work of several steps, for a step that a queue runner repeats."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf
from capstan.graph import prune, rows

Result = Callable[[Any, Any], list[Any]]
"""Takes a key and a line, and returns the components to enqueue."""


def columns(line: Any) -> list[Any]:
    return list(tf.decode_csv(line, [[0.0], [0], ["x"]]))


def widened(result: Result, reader: Any = tf.TextLineReader, capacity: int = 400) -> Any:
    """Return the steps for several records, and the target."""
    with tf.Graph().as_default():
        names = tf.FIFOQueue(3, tf.string, [])
        values = result(*reader().read(names))
        queue = tf.FIFOQueue(capacity, [value.dtype for value in values])
        target = queue.enqueue(values)
        nodes = {op.name: op.node for op in target.graph.get_operations()}
        return rows.widen(prune.prune(nodes, (), (), (target.name,)), target.name), target.name


def stacked(key: Any, line: Any) -> list[Any]:
    number, count, text = columns(line)
    features = tf.stack([number, (tf.cast(count, tf.float32) - 2.0) / 4.0])
    return [key, features, tf.stack([features, features * [1.0, 2.0]], axis=-1), text]


def test_a_step_reads_several_lines_and_another_enqueues_them() -> None:
    found, target = widened(stacked)
    (read,) = {edge.node for edge in found.records}
    assert found.nodes[read].op == "ReaderReadUpToV2"
    (count,) = [found.nodes[edge.node] for edge in found.nodes[read].inputs[2:]]
    assert count.attrs["value"] == 64
    assert found.nodes[target].op == "QueueEnqueueManyV2"
    axes = [node.attrs["axis"] for node in found.nodes.values() if node.op == "Pack"]
    assert axes == [1, -1]
    inputs = {edge for node in found.nodes.values() for edge in node.inputs}
    assert inputs.isdisjoint(found.record)


def test_a_step_reads_at_most_a_quarter_of_the_capacity_of_the_queue() -> None:
    found, _ = widened(stacked, capacity=32)
    (count,) = [node for node in found.nodes.values() if node.name.endswith("/count")]
    assert count.attrs["value"] == 8
    assert found.most == 24
    assert found.nodes[found.size.node].op == "QueueSizeV2"


def waiting(key: Any, line: Any) -> list[Any]:
    with tf.control_dependencies([tf.no_op()]):
        return [tf.identity(line)]


def read_twice(key: Any, line: Any) -> list[Any]:
    _, other = tf.TextLineReader().read(tf.FIFOQueue(3, tf.string, []))
    return [line, other]


ONE_BY_ONE: dict[str, Result] = {
    "a control dependency": waiting,
    "two reads": read_twice,
    "no record": lambda key, line: [tf.constant(1.0)],
    "a component without the record": lambda key, line: [line, tf.constant(1.0)],
    "a random number": lambda key, line: [line, tf.random_uniform([])],
    "an image": lambda key, line: [tf.image.decode_png(line)],
    "a division by a record": lambda key, line: [1.0 / columns(line)[0]],
    "ranks that would not align": lambda key, line: [tf.add(columns(line)[:1], [[1.0]])],
    "two ranks": lambda key, line: [tf.stack([columns(line)[0]] * 2) * columns(line)[0]],
    "a default that is not constant": lambda key, line: [
        *tf.decode_csv(line, [tf.random_uniform([1])])
    ],
}


@pytest.mark.parametrize("kind", ONE_BY_ONE)
def test_a_step_that_needs_its_records_one_by_one_stays_as_it_is(kind: str) -> None:
    assert widened(ONE_BY_ONE[kind])[0] is None


def test_a_record_that_is_a_whole_file_is_read_alone() -> None:
    assert widened(stacked, tf.WholeFileReader)[0] is None


def test_a_small_queue_gets_its_elements_one_by_one() -> None:
    assert widened(stacked, capacity=7)[0] is None
