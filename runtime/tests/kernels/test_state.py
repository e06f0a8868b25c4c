"""Reference variables, which steps share and change under their locks."""

import threading
from typing import Any

import interpreter
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan import errors
from capstan.core import dtypes, tensor_shape
from capstan.core.resource_name import ResourceName
from capstan.framework.raw import raw


def make(
    name: str = "v", shape: Any = (3,), dtype: dtypes.DType = dtypes.float32, **names: Any
) -> Any:
    return raw.VariableV2(dtype=dtype, shape=tensor_shape.TensorShape(shape), name=name, **names)


def test_a_variable_keeps_its_value_between_steps() -> None:
    ref, runner = make(), interpreter.Interpreter()
    runner.run(raw.Assign(ref, [1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(runner.run(raw.AssignAdd(ref, [1.0, 1.0, 1.0])), [2, 3, 4])
    np.testing.assert_array_equal(runner.run(raw.AssignSub(ref, [0.0, 3.0, 0.0])), [2, 0, 4])
    np.testing.assert_array_equal(runner.run(raw.Identity(ref)), [2, 0, 4])


def test_the_error_for_an_uninitialized_variable_names_it() -> None:
    ref, runner = make("weights"), interpreter.Interpreter()
    for use in (raw.Identity(ref), raw.AssignAdd(ref, [1.0] * 3), raw.ScatterAdd(ref, [0], [1.0])):
        with pytest.raises(errors.FailedPreconditionError) as raised:
            runner.run(use)
        assert "Attempting to use uninitialized value weights" in str(raised.value)
    is_set = raw.IsVariableInitialized(ref)
    assert not runner.run(is_set)
    runner.run(raw.Assign(ref, [0.0] * 3))
    assert runner.run(is_set)


def test_nodes_share_a_variable_by_name_within_a_container() -> None:
    runner = interpreter.Interpreter()
    first = make("one", shared_name="shared")
    second = make("two", shared_name="shared")
    apart = make("three", shared_name="shared", container="box")
    runner.run([raw.Assign(first, [1.0] * 3), raw.Assign(apart, [2.0] * 3)])
    np.testing.assert_array_equal(runner.run(raw.Identity(second)), [1, 1, 1])
    np.testing.assert_array_equal(runner.run(raw.Identity(apart)), [2, 2, 2])


def test_a_cleared_variable_may_get_another_dtype() -> None:
    runner = interpreter.Interpreter()
    runner.run(raw.Assign(make("one", shared_name="shared"), [1.0] * 3))
    other = make("two", dtype=dtypes.int32, shared_name="shared")
    with pytest.raises(errors.InvalidArgumentError, match="holds float32, not int32"):
        runner.run(raw.Assign(other, [1] * 3))
    runner.resources.clear()
    runner.run(raw.Assign(other, [1] * 3))
    with pytest.raises(errors.InvalidArgumentError, match="holds int32, not float32"):
        runner.run(raw.Identity(make("three", shared_name="shared")))


def test_an_assignment_of_another_shape_needs_validate_shape_false() -> None:
    ref, runner = make(shape=None), interpreter.Interpreter()
    runner.run(raw.Assign(ref, [1.0, 2.0]))
    with pytest.raises(errors.InvalidArgumentError) as raised:
        runner.run(raw.Assign(ref, [1.0, 2.0, 3.0]))
    assert "lhs shape= [2] rhs shape= [3]" in str(raised.value)
    runner.run(raw.Assign(ref, [[1.0]], validate_shape=False))
    np.testing.assert_array_equal(runner.run(raw.Identity(ref)), [[1]])


def test_an_update_of_another_shape_is_refused() -> None:
    ref, runner = make(shape=None), interpreter.Interpreter()
    runner.run(raw.Assign(ref, [1.0, 2.0]))
    with pytest.raises(errors.InvalidArgumentError, match="must be the same size"):
        runner.run(raw.AssignAdd(ref, 1.0))


def test_a_variable_may_be_added_to_itself() -> None:
    ref, runner = make(), interpreter.Interpreter()
    runner.run(raw.Assign(ref, [1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(runner.run(raw.AssignAdd(ref, ref)), [2, 4, 6])


@pytest.mark.e2e
@given(data=st.data())
def test_scatter_add_and_sub_sum_updates_of_the_same_row(data: Any) -> None:
    rows = data.draw(st.integers(1, 5))
    indices = np.array(data.draw(st.lists(st.integers(0, rows - 1), max_size=8)), np.int32)
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    table, updates = random.normal(size=(rows, 2)), random.normal(size=(len(indices), 2))
    for op, ufunc in (("ScatterAdd", np.add), ("ScatterSub", np.subtract)):
        expected = table.copy()
        ufunc.at(expected, indices, updates)
        ref, runner = make(op, table.shape, dtypes.float64), interpreter.Interpreter()
        runner.run(raw.Assign(ref, table))
        found = runner.run(getattr(raw, op)(ref, indices, updates))
        np.testing.assert_allclose(found, expected)


def test_scatter_update_sets_rows() -> None:
    ref, runner = make(), interpreter.Interpreter()
    runner.run(raw.Assign(ref, [1.0, 2.0, 3.0]))
    found = runner.run(raw.ScatterUpdate(ref, [[2], [0]], [[8.0], [9.0]]))
    np.testing.assert_array_equal(found, [9, 2, 8])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("Add", [3, 3, 6, 6]),
        ("Sub", [-1, -1, 2, 2]),
        ("Mul", [2, 2, 8, 8]),
        ("Div", [0.5, 0.5, 2, 2]),
        ("Min", [1, 1, 2, 2]),
        ("Max", [2, 2, 4, 4]),
        ("Update", [2, 2, 2, 2]),
    ],
)
def test_one_number_changes_all_rows_of_a_scatter(change: str, expected: list[float]) -> None:
    start, runner = np.float32([[1, 1], [3, 3], [4, 4]]), interpreter.Interpreter()
    ref = make(shape=[3, 2])
    runner.run(raw.Assign(ref, start))
    found = runner.run(getattr(raw, f"Scatter{change}")(ref, [2, 0], 2.0))
    np.testing.assert_array_equal(found[[0, 2]].ravel(), expected)
    np.testing.assert_array_equal(found[1], [3, 3])


def test_a_scatter_with_an_index_out_of_range_is_refused_and_changes_nothing() -> None:
    ref, runner = make(shape=None), interpreter.Interpreter()
    runner.run(raw.Assign(ref, [1.0, 2.0, 3.0]))
    with pytest.raises(errors.InvalidArgumentError) as raised:
        runner.run(raw.ScatterAdd(ref, [0, 3], [1.0, 1.0]))
    assert "indices[1] = 3 is not in [0, 3)" in str(raised.value)
    with pytest.raises(errors.InvalidArgumentError, match="Must have updates"):
        runner.run(raw.ScatterAdd(ref, [0], [1.0, 1.0]))
    np.testing.assert_array_equal(runner.run(raw.Identity(ref)), [1, 2, 3])


class Watch:
    """Replaces a variable's lock and records the value at each acquisition and release."""

    def __init__(self, cell: Any) -> None:
        self.cell = cell
        self.seen: list[Any] = []

    def __enter__(self) -> None:
        self.seen.append(self.cell.array.copy())

    def __exit__(self, *_: object) -> None:
        self.seen.append(self.cell.array.copy())

    acquire, release = __enter__, __exit__


ONE = np.ones(3)
CHANGES = {
    "AssignAdd": (1, [ONE]),
    "AssignSub": (1, [ONE]),
    "ScatterAdd": (1, [[1], [1.0]]),
    "ScatterSub": (1, [[1], [1.0]]),
    "ScatterUpdate": (1, [[1], [9.0]]),
    "ApplyGradientDescent": (1, [0.1, ONE]),
    "ApplyMomentum": (2, [0.1, ONE, 0.9]),
    "SparseApplyMomentum": (2, [0.1, [1.0], [1], 0.9]),
    "ApplyAdam": (3, [0.9, 0.99, 0.1, 0.9, 0.99, 1e-8, ONE]),
    "ApplyCenteredRMSProp": (4, [0.1, 0.9, 0.9, 9.0, ONE]),
    "SparseApplyFtrl": (3, [[1.0], [1], 0.1, 0.1, 0.1, -0.5]),
}


@pytest.mark.parametrize("op", CHANGES)
def test_a_variable_is_changed_under_its_lock(op: str) -> None:
    count, arguments = CHANGES[op]
    runner, watches, refs = interpreter.Interpreter(), [], []
    for index in range(count):
        refs.append(make(f"v{index}", dtype=dtypes.float64))
        runner.run(raw.Assign(refs[-1], [1.0, 2.0, 3.0]))
        cell = runner.resources.variable(ResourceName("localhost", f"v{index}"), dtypes.float64)
        cell.lock = Watch(cell)
        watches.append(cell.lock)
    runner.run(getattr(raw, op)(*refs, *arguments).op)
    for watch in watches:
        before, after = watch.seen
        np.testing.assert_array_equal(before, [1, 2, 3])
        np.testing.assert_array_equal(after, watch.cell.array)
        assert not np.array_equal(before, after)


def test_no_addition_is_lost_when_several_threads_add() -> None:
    ref, runner = make(shape=(1000,)), interpreter.Interpreter()
    runner.run(raw.Assign(ref, np.zeros(1000, np.float32)))
    add = raw.AssignAdd(ref, np.ones(1000, np.float32))
    runner.run(add)
    threads = [
        threading.Thread(target=lambda: [runner.run(add.op) for _ in range(50)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(runner.run(raw.Identity(ref)), np.full(1000, 201))


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize(
    ("change", "floats", "integers"),
    [
        ("mul", [[42, 28], [36, -24]], [[42, 28], [36, -24]]),
        ("div", [[7 / 6, 7 / 4], [9 / 4, -8 / 3]], [[1, 1], [2, -2]]),
        ("max", [[7, 2], [9, 3]], [[7, 2], [9, 3]]),
        ("min", [[2, -7], [4, -8]], [[2, -7], [4, -8]]),
    ],
)
def test_a_repeated_row_gets_each_of_its_changes(
    change: str, floats: Any, integers: Any, use_resource: bool
) -> None:
    for dtype, expected in ((np.float32, floats), (np.int32, integers)):
        with tf.Graph().as_default(), tf.Session() as session:
            table = np.array([[7, -7], [9, -8]], dtype)
            v = tf.get_variable("v", initializer=table, use_resource=use_resource)
            rows = np.array([[2, 2], [4, 3], [3, -2]], dtype)
            changed = getattr(tf, f"scatter_{change}")(v, [0, 1, 0], rows)
            session.run(v.initializer)
            np.testing.assert_allclose(session.run(changed), expected, rtol=1e-6)
