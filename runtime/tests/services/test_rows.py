"""The step that does the work of several steps, for a step that a queue runner repeats."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf
from capstan.framework.raw import raw
from capstan.graph import prune
from capstan.services import rows

Result = Callable[[Any, Any], list[Any]]
"""Takes a key and a line, and returns the components to enqueue."""


def columns(line: Any) -> list[Any]:
    return list(tf.decode_csv(line, [[0.0], [0], ["x"]]))


def widened(result: Result, reader: Any = tf.TextLineReader, capacity: int = 400) -> Any:
    """Return the step for several records, and the target."""
    with tf.Graph().as_default():
        names = tf.FIFOQueue(3, tf.string, [])
        values = result(*reader().read(names))
        queue = tf.FIFOQueue(capacity, [value.dtype for value in values])
        target = queue.enqueue(values)
        nodes = {op.name: op.node for op in target.graph.get_operations()}
        return rows.widen(prune.prune(nodes, (), (), (target.name,)), target.name), target.name


def taken(found: Any, target: str) -> tuple[str, int]:
    """Return the op that takes elements, and their largest number in the graph."""
    needed = prune.prune(found.nodes, (), (), (target,))
    (take,) = [node for node in needed.values() if "Rows" in node.op]
    assert take.inputs[-2] == needed[target].inputs[0]
    return take.op, int(needed[take.inputs[-1].node].attrs["value"])


def stacked(key: Any, line: Any) -> list[Any]:
    number, count, text = columns(line)
    features = tf.stack([number, (tf.cast(count, tf.float32) - 2.0) / 4.0])
    return [key, features, tf.stack([features, features * [1.0, 2.0]], axis=-1), text]


def test_a_step_reads_several_lines_and_enqueues_them() -> None:
    found, target = widened(stacked)
    assert taken(found, target) == ("_ReaderReadRowsV2", 64)
    assert found.most == 64
    assert found.nodes[target].op == "QueueEnqueueManyV2"


def test_a_step_reads_no_more_than_the_capacity_of_the_queue() -> None:
    found, target = widened(stacked, capacity=32)
    assert taken(found, target) == ("_ReaderReadRowsV2", 32)
    assert found.most == 32


def checked(key: Any, line: Any) -> list[Any]:
    with tf.control_dependencies([tf.Assert(tf.not_equal(line, ""), [key])]):
        return [tf.identity(line)]


def checked_on_one_side(key: Any, line: Any) -> list[Any]:
    return [tf.cond(tf.equal(line, ""), lambda: checked(key, line)[0], lambda: line)]


def merged(key: Any, line: Any) -> list[Any]:
    sides = raw.Switch(data=line, pred=tf.equal(line, ""))
    return [raw.Merge(inputs=[sides.output_false, sides.output_true]).value_index]


def counted(key: Any, line: Any) -> list[Any]:
    return [line, tf.while_loop(lambda i: i < tf.strings.length(line), lambda i: i + 1, [0])]


def passed_on(key: Any, line: Any) -> list[Any]:
    return [raw.Switch(data=line, pred=tf.equal(line, "")).output_true]


def chosen_by_a_reference(key: Any, line: Any) -> list[Any]:
    flag = tf.get_variable("flag", initializer=False, use_resource=False)
    sides = raw.RefSwitch(data=flag.op.outputs[0], pred=tf.constant(True))
    number = tf.cond(flag, lambda: tf.constant(1), lambda: tf.constant(2))
    return [line, number, tf.identity(sides.output_true)]


def read_twice(key: Any, line: Any) -> list[Any]:
    _, other = tf.TextLineReader().read(tf.FIFOQueue(3, tf.string, []))
    return [line, other]


def example(line: Any, feature: Any) -> Any:
    return tf.parse_single_example(line, {"x": feature})["x"]


ONE_BY_ONE: dict[str, Result] = {
    "a check": checked,
    "a check on one side": checked_on_one_side,
    "the side that was taken": merged,
    "a loop": counted,
    "an enqueue on one side": passed_on,
    "a reference on one side": chosen_by_a_reference,
    "two reads": read_twice,
    "no record": lambda key, line: [tf.constant(1.0)],
    "a bias of a type that cannot be added": lambda key, line: [
        tf.nn.bias_add(
            tf.zeros([1, 2], tf.uint16), tf.cast(tf.decode_csv(line, [[0]] * 2), tf.uint16)
        )
    ],
    "a random number with a seed": lambda key, line: [line, tf.random_uniform([], seed=1)],
    "an image": lambda key, line: [tf.image.decode_png(line)],
    "a file": lambda key, line: [tf.read_file(line)],
    "a default that is not constant": lambda key, line: [
        *tf.decode_csv(line, [tf.string_to_number(tf.read_file(key))[None]])
    ],
    "a sparse feature": lambda key, line: [example(line, tf.VarLenFeature(tf.int64)).values],
    "a feature of any length": lambda key, line: [
        example(line, tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True))
    ],
}


@pytest.mark.parametrize("kind", ONE_BY_ONE)
def test_a_step_that_needs_its_records_one_by_one_stays_as_it_is(kind: str) -> None:
    assert widened(ONE_BY_ONE[kind])[0] is None


def test_a_record_that_is_a_whole_file_is_read_alone() -> None:
    assert widened(stacked, tf.WholeFileReader)[0] is None


def test_a_queue_of_one_element_gets_its_elements_one_by_one() -> None:
    assert widened(stacked, capacity=1)[0] is None


def dequeued(source: Any, sink: Any) -> Any:
    """Return the step for several elements that move from one queue to another, and the target."""
    with tf.Graph().as_default():
        queue = source()
        target = sink(queue).enqueue(tf.identity(queue.dequeue()))
        nodes = {op.name: op.node for op in target.graph.get_operations()}
        return rows.widen(prune.prune(nodes, (), (), (target.name,)), target.name), target.name


def test_nodes_of_the_older_versions_are_widened_too() -> None:
    kinds = {"component_types": [tf.string], "shapes": [tf.TensorShape([])], "capacity": 50}
    with tf.Graph().as_default() as graph:
        names, sink = raw.FIFOQueue(**kinds), raw.FIFOQueue(**kinds)
        _, line = raw.ReaderRead(raw.TextLineReader(), names)
        element = raw.QueueDequeue(names, component_types=[tf.string])
        targets = [raw.QueueEnqueue(sink, [value]).name for value in (line, element)]
        nodes = {op.name: op.node for op in graph.get_operations()}
    found = [rows.widen(prune.prune(nodes, (), (), (name,)), name) for name in targets]
    ops = [taken(each, name)[0] for each, name in zip(found, targets, strict=True)]
    assert ops == ["_ReaderReadRows", "_QueueDequeueRows"]


def numbers(shapes: Any = ((),), kind: Any = tf.FIFOQueue) -> Any:
    return kind(100, dtypes=[tf.int32], shapes=shapes)


def test_a_step_takes_the_elements_that_are_in_a_queue() -> None:
    assert taken(*dequeued(numbers, lambda _: numbers())) == ("_QueueDequeueRowsV2", 64)


@pytest.mark.parametrize(
    ("source", "sink"),
    [
        pytest.param(lambda: numbers(None), lambda _: numbers(), id="elements of any shape"),
        pytest.param(numbers, lambda queue: queue, id="one queue"),
        pytest.param(
            lambda: numbers(((None,),), tf.PaddingFIFOQueue), lambda _: numbers(None), id="padding"
        ),
    ],
)
def test_a_step_takes_one_element_of_other_queues(source: Any, sink: Any) -> None:
    assert dequeued(source, sink)[0] is None
