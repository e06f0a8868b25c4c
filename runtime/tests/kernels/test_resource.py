"""Resource variables: operations on handles, and reads whose values do not change."""

from typing import Any

import interpreter
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan import errors
from capstan.core import dtypes, tensor_proto, tensor_shape
from capstan.framework import gradients
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

FLOAT = {"dtype": dtypes.float32}


def handle(name: str = "v", shape: Any = (3,), **names: Any) -> Any:
    return raw.VarHandleOp(**FLOAT, shape=tensor_shape.TensorShape(shape), name=name, **names)


def read(variable: Any) -> Any:
    return raw.ReadVariableOp(variable, **FLOAT)


def test_a_variable_is_assigned_changed_and_read_through_its_handle() -> None:
    v, runner = handle(), interpreter.Interpreter()
    is_set = raw.VarIsInitializedOp(v)
    assert not runner.run(is_set)
    runner.run(raw.AssignVariableOp(v, [1.0, 2.0, 3.0]))
    runner.run(raw.AssignAddVariableOp(v, [1.0, 1.0, 1.0]))
    runner.run(raw.AssignSubVariableOp(v, [0.0, 0.0, 4.0]))
    assert runner.run(is_set)
    np.testing.assert_array_equal(runner.run(read(v)), [2, 3, 0])
    np.testing.assert_array_equal(runner.run(raw.VariableShape(v)), [3])


ABSENT = "Resource localhost/weights/N10tensorflow3VarE does not exist."
USES: dict[str, Any] = {
    "assign_add": lambda v: raw.AssignAddVariableOp(v, [1.0] * 3),
    "assign_sub": lambda v: raw.AssignSubVariableOp(v, [1.0] * 3),
    "scatter": lambda v: raw.ResourceScatterAdd(v, [0], [1.0]),
    "scatter of a scalar": lambda v: raw.ResourceScatterUpdate(v, [0], 1.0),
    "scatter_nd": lambda v: raw.ResourceScatterNdAdd(v, [[0]], [1.0]),
    "gather": lambda v: raw.ResourceGather(v, [0], **FLOAT),
    "gather_nd": lambda v: raw.ResourceGatherNd(v, [[0]], **FLOAT),
    "slice": lambda v: raw.ResourceStridedSliceAssign(v, [0], [1], [1], [1.0]),
    "shape": raw.VariableShape,
    "copy on read": raw.DisableCopyOnRead,
    "destroy": lambda v: raw.DestroyResourceOp(v, ignore_lookup_error=False),
}


def test_a_read_of_an_uninitialized_variable_names_the_variable_and_its_container() -> None:
    message = (
        "Error while reading resource variable weights from Container: localhost. This could mean "
        f"that the variable was uninitialized. Not found: {ABSENT}"
    )
    with pytest.raises(errors.FailedPreconditionError, match=message):
        interpreter.Interpreter().run(read(handle("weights")))


@pytest.mark.parametrize("use", USES)
def test_other_uses_of_an_uninitialized_variable_find_no_resource(use: str) -> None:
    with pytest.raises(errors.NotFoundError, match=ABSENT):
        interpreter.Interpreter().run(USES[use](handle("weights")))


@pytest.mark.parametrize("op", ["ResourceApplyMomentum", "ResourceSparseApplyMomentum"])
def test_an_optimizer_refuses_an_uninitialized_variable(op: str) -> None:
    v, slot, runner = handle("weights"), handle("slot"), interpreter.Interpreter()
    runner.run(raw.AssignVariableOp(v, [0.0] * 3))
    inputs = ([1.0] * 3, 0.9) if op == "ResourceApplyMomentum" else ([1.0], [0], 0.9)
    with pytest.raises(errors.InternalError, match=r"Invalid variable reference\."):
        runner.run(getattr(raw, op)(v, slot, 0.1, *inputs))


def test_a_reference_and_a_resource_variable_of_one_name_are_two_variables() -> None:
    runner = interpreter.Interpreter()
    ref = raw.VariableV2(**FLOAT, shape=tensor_shape.TensorShape([3]), shared_name="v")
    runner.run(raw.Assign(ref, [1.0, 2.0, 3.0]).op)
    v = handle(shared_name="v")
    assert not runner.run(raw.VarIsInitializedOp(v))
    runner.run(raw.AssignVariableOp(v, [0.0] * 3))
    np.testing.assert_array_equal(runner.run(ref), [1, 2, 3])


def test_a_destroyed_variable_has_no_value() -> None:
    v, runner = handle("weights"), interpreter.Interpreter()
    runner.run(raw.AssignVariableOp(v, [0.0] * 3))
    runner.run(raw.DestroyResourceOp(v))
    assert not runner.run(raw.VarIsInitializedOp(v))
    runner.run(raw.DestroyResourceOp(v))


def test_a_value_whose_shape_differs_from_the_declared_shape_is_refused() -> None:
    v, runner = handle(shape=[None, 2]), interpreter.Interpreter()
    value = raw.Placeholder(dtype=dtypes.float32, shape=tensor_shape.TensorShape(None))
    assign = raw.AssignVariableOp(v, value)
    runner.run(assign, {value: np.zeros((2, 2))})
    runner.run(assign, {value: np.ones((1, 2))})
    np.testing.assert_array_equal(runner.run(read(v)), [[1, 1]])
    with pytest.raises(errors.InvalidArgumentError, match=r"\[\?,2\] got \[3\]"):
        runner.run(assign, {value: np.zeros(3)})
    add = raw.AssignAddVariableOp(v, value)
    with pytest.raises(errors.InvalidArgumentError, match=r"shape \[1,2\] using .* \[2,2\]"):
        runner.run(add, {value: np.zeros((2, 2))})
    with pytest.raises(ValueError, match="must be equal"):
        raw.AssignVariableOp(handle("w", shape=[2]), [1.0, 2.0, 3.0])


def test_rows_are_gathered_and_scattered() -> None:
    v, runner = handle(shape=[3, 2]), interpreter.Interpreter()
    runner.run(raw.AssignVariableOp(v, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    gathered = raw.ResourceGather(v, [[2], [0]], **FLOAT)
    assert gathered.shape.as_list() == [2, 1, 2]
    np.testing.assert_array_equal(runner.run(gathered), [[[4, 5]], [[0, 1]]])
    runner.run(raw.ResourceScatterAdd(v, [0, 0], [[1.0, 1.0], [1.0, 2.0]]))
    runner.run(raw.ResourceScatterSub(v, [1], [[1.0, 1.0]]))
    runner.run(raw.ResourceScatterUpdate(v, [2], 9.0))
    np.testing.assert_array_equal(runner.run(read(v)), [[2, 4], [1, 2], [9, 9]])
    elements = raw.ResourceGatherNd(v, [[1, 0], [2, 1]], **FLOAT)
    assert elements.shape.as_list() == [2]
    np.testing.assert_array_equal(runner.run(elements), [1, 9])
    for use in (raw.ResourceGather(v, [3], **FLOAT), raw.ResourceScatterAdd(v, [3], 1.0)):
        with pytest.raises(errors.InvalidArgumentError, match=r"= 3 is not in \[0, 3\)"):
            runner.run(use)


UPDATES = {
    "ApplyGradientDescent": (1, [0.1, [1.0, 2.0]]),
    "ApplyMomentum": (2, [0.1, [1.0, 2.0], 0.9]),
    "SparseApplyMomentum": (2, [0.1, [1.0], [1], 0.9]),
    "ApplyAdam": (3, [0.9, 0.99, 0.1, 0.9, 0.99, 1e-8, [1.0, 2.0]]),
    "ApplyAdagradDA": (3, [[1.0, 2.0], 0.1, 0.1, 0.1, np.int64(2)]),
    "SparseApplyFtrl": (3, [[1.0], [1], 0.1, 0.1, 0.1, -0.5]),
}


@pytest.mark.parametrize("op", UPDATES)
def test_updates_of_resource_variables_equal_those_of_reference_variables(op: str) -> None:
    count, arguments = UPDATES[op]
    runner, start = interpreter.Interpreter(), [3.0, 5.0]
    refs = [raw.VariableV2(**FLOAT, shape=[2], name=f"ref{index}") for index in range(count)]
    handles = [handle(f"resource{index}", [2]) for index in range(count)]
    for ref, v in zip(refs, handles, strict=True):
        runner.run([raw.Assign(ref, start), raw.AssignVariableOp(v, start)])
    runner.run(getattr(raw, op)(*refs, *arguments).op)
    runner.run(getattr(raw, f"Resource{op}")(*handles, *arguments))
    for ref, v in zip(refs, handles, strict=True):
        found, expected = runner.run([read(v), raw.Identity(ref)])
        np.testing.assert_array_equal(found, expected)
        assert found.tolist() != start


def test_the_gradients_of_reads_are_gradients_of_the_handle() -> None:
    v, table, runner = handle(shape=[2]), handle("table", [3, 1]), interpreter.Interpreter()
    runner.run(raw.AssignVariableOp(v, [3.0, 4.0]))
    runner.run(raw.AssignVariableOp(table, [[1.0], [2.0], [3.0]]))
    rows = raw.ResourceGather(table, [2, 2], **FLOAT)
    slopes = gradients.gradients([raw.Square(read(v)), raw.Square(rows)], [v, table])
    assert slopes[0].shape.as_list() == [2]
    np.testing.assert_array_equal(runner.run(slopes[0]), [6, 8])
    found = runner.run([slopes[1].values, slopes[1].indices])
    np.testing.assert_array_equal(found[0], [[6], [6]])
    np.testing.assert_array_equal(found[1], [2, 2])
    elements = [raw.ResourceGatherNd(table, places, **FLOAT) for places in ([[2]], [[0, 0]])]
    by_row, by_element = (gradients.gradients(each, [table])[0] for each in elements)
    np.testing.assert_array_equal(runner.run(by_row.indices), [2])
    np.testing.assert_array_equal(runner.run(by_element), [[1], [0], [0]])


def test_a_fetched_handle_names_the_device_container_and_name_of_its_variable() -> None:
    v = handle("w", shared_name="there", container="box")
    with tf.Session() as session:
        found = session.run(v)
    proto = tensor_proto.make(found)
    assert proto.dtype == dtypes.resource.as_datatype_enum
    (fetched,) = proto.resource_handle_val
    assert (fetched.container, fetched.name) == ("box", "there")
    device = tf.test.gpu_device_name() or "/device:CPU:0"
    assert fetched.device == f"/job:localhost/replica:0/task:0{device}"


def test_a_value_read_by_one_spelling_of_the_default_container_survives_a_change_by_the_other() -> (
    None
):
    plain, spelled = handle("w"), handle("w2", shared_name="w", container="localhost")
    with tf.Session() as session:
        session.run(raw.AssignVariableOp(plain, [1.0, 2.0, 3.0]))
        before = read(plain)
        with tf.control_dependencies([before]):
            change = raw.AssignAddVariableOp(spelled, [10.0, 10.0, 10.0])
        with tf.control_dependencies([change]):
            used = raw.Add(before, [0.0, 0.0, 0.0])
        np.testing.assert_array_equal(session.run(used), [1, 2, 3])
        np.testing.assert_array_equal(session.run(read(plain)), [11, 12, 13])


def test_a_value_survives_a_change_by_an_update_that_takes_the_variable_as_a_later_input() -> None:
    v, accum = handle("v", [2]), handle("accum", [2])
    with tf.Session() as session:
        session.run([raw.AssignVariableOp(v, [0.0, 0.0]), raw.AssignVariableOp(accum, [1.0, 2.0])])
        before = read(accum)
        with tf.control_dependencies([before]):
            update = raw.ResourceApplyMomentum(v, accum, 0.1, [10.0, 10.0], 0.0)
        with tf.control_dependencies([update]):
            used = raw.Add(before, [0.0, 0.0])
        np.testing.assert_array_equal(session.run(used), [1, 2])
        np.testing.assert_array_equal(session.run(read(accum)), [10, 10])


def test_a_queue_gets_the_value_that_was_read_before_the_change() -> None:
    v, queue = handle("v", [2]), tf.FIFOQueue(1, [tf.float32], [[2]])
    before = read(v)
    enqueue = queue.enqueue(before, name="A")  # a step runs its nodes in the order of their names
    with tf.control_dependencies([before]):
        change = raw.AssignAddVariableOp(v, [10.0, 10.0])
    with tf.Session() as session:
        session.run(raw.AssignVariableOp(v, [1.0, 2.0]))
        session.run([change, enqueue])
        np.testing.assert_array_equal(session.run(queue.dequeue()), [1, 2])


@pytest.mark.parametrize(
    "queue",
    [
        lambda: tf.FIFOQueue(2, [tf.resource, tf.float32], [[], []]),
        lambda: tf.FIFOQueue(2, [tf.resource, tf.float32]),
        lambda: tf.PaddingFIFOQueue(2, [tf.resource, tf.float32], [[], []]),
        lambda: tf.RandomShuffleQueue(2, 0, [tf.resource, tf.float32], [[], []]),
    ],
)
def test_a_queue_hands_over_the_handle_of_a_variable(queue: Any) -> None:
    v, waiting = handle("v", []), queue()
    enqueue, (dequeued, step) = waiting.enqueue((v, 2.0)), waiting.dequeue()
    change = raw.AssignAddVariableOp(dequeued, step)
    with tf.Session() as session:
        session.run(raw.AssignVariableOp(v, 1.0))
        session.run(enqueue)
        session.run(change)
        assert session.run(read(v)) == 3


def test_a_queue_hands_over_the_handle_of_a_queue() -> None:
    inner, outer = tf.FIFOQueue(2, [tf.int32], [[]]), tf.FIFOQueue(2, [tf.resource], [[]])
    enqueue, size = outer.enqueue(inner.queue_ref), raw.QueueSizeV2(outer.dequeue())
    with tf.Session() as session:
        session.run([inner.enqueue_many([[5, 6]]), enqueue])
        assert session.run(size) == 2


ACTIONS = ("read", "view", "assign", "add", "copy")


@pytest.mark.e2e
@given(
    actions=st.lists(
        st.tuples(st.sampled_from(ACTIONS), st.sampled_from("vw"), st.integers(0, 20)),
        min_size=1,
        max_size=14,
    ),
    fetched=st.sets(st.integers(0, 20)),
)
def test_a_value_that_was_read_never_changes(actions: list[Any], fetched: set[int]) -> None:
    """Compare a sequence of actions with the same actions on Python lists."""
    with graphs.Graph().as_default() as graph, tf.Session() as session:
        handles = {name: handle(name, [2]) for name in "vw"}
        # Each variable has two handles.
        others = {name: handle(f"{name}_again", [2], shared_name=name) for name in "vw"}
        session.run([raw.AssignVariableOp(handles[name], [0.0, 0.0]) for name in "vw"])
        state = {"v": [0.0, 0.0], "w": [0.0, 0.0]}
        tensors: list[Any] = [raw.Neg([1.0, 2.0])]
        values: list[Any] = [[-1.0, -2.0]]
        last: Any = tensors[0].op
        for number, (action, name, pick) in enumerate(actions):
            chosen = pick % len(tensors)
            v = (handles if pick % 2 else others)[name]
            with graph.control_dependencies([last]):
                if action == "read":
                    tensors.append(read(v))
                    values.append(list(state[name]))
                elif action == "view":
                    tensors.append(raw.Reshape(raw.Identity(tensors[chosen]), [2]))
                    values.append(values[chosen])
                elif action == "copy":
                    tensors.append(raw.Add(tensors[chosen], np.float32([1, 1])))
                    values.append([element + 1 for element in values[chosen]])
                elif action == "assign":
                    last = raw.AssignVariableOp(v, tensors[chosen])
                    state[name] = list(values[chosen])
                else:
                    last = raw.AssignAddVariableOp(v, raw.Fill([2], np.float32(number)))
                    state[name] = [element + number for element in state[name]]
            if action in ("read", "view", "copy"):
                last = tensors[-1].op
        wanted = sorted({index % len(tensors) for index in fetched})
        found = session.run([*(tensors[index] for index in wanted), last])[:-1]
        for index, value in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(value, values[index], err_msg=str(index))
        for name in "vw":
            np.testing.assert_array_equal(session.run(read(handles[name])), state[name])
