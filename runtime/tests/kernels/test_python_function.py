"""`py_func` calls Python functions in sessions, with the values and errors of TensorFlow."""

import gc
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.api import function, script_ops

PATIENCE_S = 60.0


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


@pytest.fixture(autouse=True)
def _fresh_graph() -> None:
    tf.reset_default_graph()


def test_a_function_gets_arrays_and_its_results_are_tensors() -> None:
    def both(x: Any, y: Any) -> Any:
        return x @ y, np.float32(x.sum())

    x = np.array([[1.0, 2.0]], np.float32)
    results = script_ops.py_func(both, [x, x.T], [tf.float32, tf.float32], name="both")
    product, total = run(results)
    assert product.tolist() == [[5.0]]
    assert total == 3.0
    assert results[0].op.type == "PyFunc"
    assert results[0].shape.ndims is None


def test_a_function_gets_scalars_and_bytes() -> None:
    seen: list[Any] = []

    def look(*values: Any) -> Any:
        seen.extend(values)
        return np.int64(len(values))

    values = [tf.constant(1.5), tf.constant("a"), tf.constant(["a", "b"]), tf.constant(True)]
    assert run(script_ops.py_func(look, values, tf.int64)) == 4
    assert [type(value) for value in seen] == [np.float32, bytes, np.ndarray, np.bool_]
    assert seen[2].tolist() == [b"a", b"b"]


@pytest.mark.parametrize(
    "returned, dtype, expected",
    [
        ("text", tf.string, [b"text"]),
        ([np.array(["a", "bcd"])], [tf.string], [[b"a", b"bcd"]]),
        ([[1, 2]], [tf.int64], [[1, 2]]),
        ([1, 2], [tf.int64, tf.int64], [1, 2]),
        (True, tf.bool, [True]),
    ],
)
def test_plain_values_become_tensors(returned: Any, dtype: Any, expected: Any) -> None:
    found = run(script_ops.py_func(lambda: returned, [], dtype))
    values = found if isinstance(dtype, list) else [found]
    assert [np.asarray(value).tolist() for value in values] == expected


def test_a_function_may_return_nothing() -> None:
    calls: list[int] = []
    call = script_ops.py_func(lambda: calls.append(1), [], [])
    for _ in range(2):
        run(call)
    assert calls == [1, 1]
    assert script_ops.py_func(lambda: None, [], [], stateful=False) == []


def test_a_function_may_change_and_return_its_argument() -> None:
    def double(x: Any) -> Any:
        x *= 2
        return x

    x = tf.constant([1.0, 2.0])
    y = script_ops.py_func(double, [x], tf.float32)
    assert [value.tolist() for value in run([x, y, x + 1])] == [[1, 2], [2, 4], [2, 3]]


class Odd(Exception):
    """An exception to which no class of TensorFlow's errors corresponds."""


def raising(fault: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise fault

    return fail


@pytest.mark.parametrize(
    "fault, error",
    [
        (ValueError("v"), tf.errors.InvalidArgumentError),
        (TypeError("v"), tf.errors.InvalidArgumentError),
        (StopIteration("v"), tf.errors.OutOfRangeError),
        (MemoryError("v"), tf.errors.ResourceExhaustedError),
        (NotImplementedError("v"), tf.errors.UnimplementedError),
        (Odd("v"), tf.errors.UnknownError),
        (tf.errors.NotFoundError(None, None, "v"), tf.errors.UnknownError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_exception_of_the_function_fails_the_step(fault: Exception, error: Any) -> None:
    call = script_ops.py_func(raising(fault), [], tf.float32, name="call")
    with pytest.raises(error, match=f"{type(fault).__name__}: v\nTraceback") as raised:
        run(call)
    assert type(raised.value) is error
    assert raised.value.op.name == "call"
    assert "raise fault" in raised.value.message


@pytest.mark.parametrize(
    "returned, dtype, error, message",
    [
        (
            1.0,
            tf.float32,
            tf.errors.InvalidArgumentError,
            r"0-th value returned by pyfunc_\d+ is double, but expects float",
        ),
        (
            (1, 2),
            tf.int64,
            tf.errors.InvalidArgumentError,
            r"pyfunc_\d+ returns 2 values, but expects to see 1 values.",
        ),
        (
            None,
            tf.float32,
            tf.errors.InvalidArgumentError,
            r"pyfunc_\d+ returns 0 values, but expects to see 1 values.",
        ),
        ({"a": 1}, tf.int32, tf.errors.InternalError, "Unsupported object type dict"),
    ],
)
def test_a_wrong_result_fails_the_step(returned: Any, dtype: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        run(script_ops.py_func(lambda: returned, [], dtype))


@pytest.mark.e2e
def test_the_graph_keeps_its_functions_alive() -> None:
    with tf.Graph().as_default() as graph:
        value = script_ops.py_func(lambda: np.float32(1), [], tf.float32)
        gc.collect()
        with tf.Session() as session:
            assert session.run(value) == 1
    message = graph.as_graph_def()
    del graph, value, session
    tf.reset_default_graph()
    gc.collect()
    with tf.Graph().as_default():
        (again,) = tf.import_graph_def(message, return_elements=["PyFunc:0"])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not find callback"):
            run(again)


def test_a_python_function_runs_inside_of_a_function_of_the_graph() -> None:
    @function.Defun(tf.float32)
    def doubled(x: Any) -> Any:
        return script_ops.py_func(lambda value: value * 2, [x], tf.float32)

    assert run(doubled(2.0)) == 4.0


def test_functions_that_wait_for_each_other_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE_S)

    def meet() -> Any:
        return np.int64(meeting.wait())

    places = [script_ops.py_func(meet, [], tf.int64) for _ in range(3)]
    assert run(tf.reduce_sum(tf.stack(places))) == 3


def test_functions_that_the_graph_orders_run_in_the_thread_of_the_step() -> None:
    def note(*_: Any) -> Any:
        return np.int64(threading.get_ident())

    first = script_ops.py_func(note, [], tf.int64)
    second = script_ops.py_func(note, [first], tf.int64)
    with tf.control_dependencies([second]):
        third = script_ops.py_func(note, [], tf.int64)
    assert set(run([first, second, third])) == {threading.get_ident()}


def test_an_error_ends_the_step_after_the_other_functions() -> None:
    begun, failed, ended = threading.Event(), threading.Event(), []

    def slow() -> Any:
        begun.set()
        assert failed.wait(PATIENCE_S)
        ended.append(1)
        return np.int64(0)

    def fail() -> Any:
        assert begun.wait(PATIENCE_S)
        failed.set()
        raise ValueError("v")

    calls = [
        script_ops.py_func(slow, [], tf.int64, name="slow"),
        script_ops.py_func(fail, [], tf.int64, name="fail"),
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: v") as raised:
        run(calls)
    assert raised.value.op.name == "fail"
    assert ended == [1]


def test_a_function_of_a_branch_that_is_not_taken_is_not_called() -> None:
    calls: list[str] = []

    def called(name: str) -> Callable[[], Any]:
        def call() -> Any:
            return script_ops.py_func(lambda: (calls.append(name), 1)[1], [], tf.int64)

        return call

    taken = tf.placeholder(tf.bool, [])
    chosen = tf.cond(taken, called("taken"), called("not taken"))
    with tf.Session() as session:
        assert session.run(chosen, {taken: True}) == 1
    assert calls == ["taken"]


def test_functions_of_one_step_leave_their_arguments_alone() -> None:
    def double(x: Any) -> Any:
        x *= 2
        return x

    x = tf.Variable([1.0, 2.0])
    y = tf.identity(x) + 1
    calls = [script_ops.py_func(double, [each], tf.float32) for each in (x, x, y, y)]
    with tf.Session() as session:
        session.run(x.initializer)
        for _ in range(2):
            doubled = session.run(calls)
            assert [value.tolist() for value in doubled] == [[2, 4], [2, 4], [4, 6], [4, 6]]


@pytest.mark.parametrize("inputs", [[], [1.0]])
def test_a_stateless_function_of_constants_is_called_once(inputs: list[float]) -> None:
    numbers = itertools.count()
    number = script_ops.py_func(lambda *_: next(numbers), inputs, tf.int64, stateful=False)
    with tf.Session() as session:
        assert [session.run(number) for _ in range(3)] == [0, 0, 0]


def test_a_value_that_is_not_callable_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected func to be callable"):
        script_ops.py_func(3, [], tf.float32)  # type: ignore[arg-type]


def test_a_python_function_has_no_gradient() -> None:
    x = tf.constant(1.0)
    assert tf.gradients(script_ops.numpy_function(lambda value: value, [x], tf.float32), x) == [
        None
    ]


def test_py_function_gets_arrays_with_the_method_of_eager_tensors() -> None:
    seen: list[Any] = []

    def look(*values: Any) -> Any:
        seen.extend(value.numpy() for value in values)
        seen.append((values[0] + 1).numpy())
        return values[2] * 2

    values = [tf.constant(1.5), tf.constant("a"), tf.constant([1.0, 2.0]), tf.constant(["a", "b"])]
    assert run(tf.py_function(look, values, tf.float32)).tolist() == [2, 4]
    assert [type(value) for value in seen] == [
        np.float32,
        bytes,
        np.ndarray,
        np.ndarray,
        np.float32,
    ]
    assert seen[3].tolist() == [b"a", b"b"]


def test_py_function_may_use_one_array_for_all_its_results() -> None:
    numbers, reused = itertools.count(), np.zeros(2, np.float32)

    def fill() -> Any:
        reused[:] = next(numbers)
        return reused

    queue = tf.FIFOQueue(2, tf.float32, [[2]])
    put = queue.enqueue([tf.reshape(tf.py_function(fill, [], tf.float32), [2])])
    with tf.Session() as session:
        session.run(put)
        session.run(put)
        assert session.run(queue.dequeue_many(2)).tolist() == [[0, 0], [1, 1]]
    first = tf.py_function(fill, [], tf.float32)
    with tf.control_dependencies([first]):
        second = tf.py_function(fill, [], tf.float32)
    assert [value.tolist() for value in run([first, second])] == [[2, 2], [3, 3]]


def test_a_tensor_that_py_function_returns_is_refused_with_advice() -> None:
    y = tf.py_function(lambda x: tf.constant(x), [1.0], tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="compute with NumPy"):
        run(y)


def test_py_function_has_no_gradient_but_does_not_pretend_to_be_constant() -> None:
    x = tf.constant(1.0)
    with pytest.raises(LookupError):
        tf.gradients(tf.py_function(lambda x: x, [x], tf.float32), x)


def test_the_result_of_py_function_is_the_operation_if_it_returns_nothing() -> None:
    calls: list[int] = []
    run(tf.py_function(lambda: calls.append(1), [], []))
    assert calls == [1]


def test_a_result_has_the_byte_order_of_the_machine() -> None:
    swapped = np.array([1.5, -2.0], np.dtype(np.float32).newbyteorder())
    kinds: list[str] = []

    def note(x: Any) -> Any:
        kinds.append(x.dtype.byteorder)
        return x

    result = script_ops.py_func(lambda: swapped, [], tf.float32)
    assert run(script_ops.py_func(note, [result], tf.float32)).tolist() == [1.5, -2.0]
    assert kinds == ["="]
