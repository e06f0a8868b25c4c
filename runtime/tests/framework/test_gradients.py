"""`tf.gradients`: the reverse pass. The gradient rules of single ops have tests in `ops`."""

import math
from typing import Any

import interpreter
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.framework import gradient_sums
from capstan.framework import graph as graphs


def _run(fetches: Any, feeds: Any = None) -> Any:
    return interpreter.Interpreter().run(fetches, feeds)


def _scalar(name: str = "x") -> Any:
    return tf.placeholder(tf.float64, [], name=name)


def test_the_gradients_of_several_paths_add_up() -> None:
    x = _scalar()
    y = x * x + 3 * x + x
    (grad,) = tf.gradients(y, x)
    assert _run(grad, {x: 5.0}) == 2 * 5 + 3 + 1


def test_the_gradients_of_several_ys_add_up_with_their_weights() -> None:
    x = _scalar()
    assert _run(tf.gradients([x * 2, x * 3], x), {x: 1.0}) == [5]
    assert _run(
        tf.gradients([x * 2, x * 3], x, grad_ys=[10.0, tf.constant(1.0, tf.float64)]), {x: 1.0}
    ) == [23]
    assert _run(tf.gradients([x * 2, x * 3], x, grad_ys=[None, 2.0]), {x: 1.0}) == [8]


@pytest.mark.parametrize("combined", [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.pow])
def test_the_gradient_of_a_scalar_may_be_given_as_a_vector(combined: Any) -> None:
    x = tf.placeholder(tf.float64, [2])
    y = combined(tf.reduce_sum(x), tf.reduce_prod(x))
    expected = _run(tf.gradients(y, x, 2.0), {x: [1.5, 0.5]})[0]
    found = tf.gradients(y, x, tf.constant([2.0], tf.float64))[0]
    np.testing.assert_array_equal(_run(found, {x: [1.5, 0.5]}), expected)


def test_the_gradient_of_a_vector_is_the_gradient_of_its_sum() -> None:
    x = tf.placeholder(tf.float32, [None])
    (grad,) = tf.gradients(x * x, x)
    assert _run(grad, {x: [1, 2]}).tolist() == [2, 4]


def test_the_gradient_without_a_path_is_none() -> None:
    x, z = _scalar(), _scalar("z")
    y = x * 2
    assert tf.gradients(y, z) == [None]
    assert tf.gradients(y, [z, x, z])[::2] == [None, None]
    assert tf.gradients(x, y) == [None]


def test_a_y_that_is_an_x_has_gradient_one() -> None:
    x = _scalar()
    assert _run(tf.gradients(x, x), {x: 3.0}) == [1]
    y = x * 2
    assert _run(tf.gradients([y, x], [x, y]), {x: 3.0}) == [3, 1]


def test_a_gradient_flows_through_one_x_to_another() -> None:
    x = _scalar()
    y = x * 2
    z = y * y
    assert _run(tf.gradients(z, [x, y]), {x: 3.0}) == [2 * 6 * 2, 2 * 6]


def test_stop_gradients_are_constants() -> None:
    x = _scalar()
    y = x * 2
    z = x + y
    assert _run(tf.gradients(z, x), {x: 1.0}) == [3]
    assert _run(tf.gradients(z, x, stop_gradients=[y]), {x: 1.0}) == [1]
    assert _run(tf.gradients(z, x, stop_gradients=y), {x: 1.0}) == [1]
    assert _run(tf.gradients(z, [x, y], stop_gradients=[x, y]), {x: 1.0}) == [1, 1]
    assert tf.gradients(tf.stop_gradient(z), x) == [None]


def test_gradients_can_be_differentiated_again() -> None:
    x = _scalar()
    y = x * x * x
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    assert _run([first, second], {x: 2.0}) == [12, 12]


def test_the_gradient_by_a_variable_is_computed() -> None:
    v = tf.Variable(3.0)
    machine = interpreter.Interpreter()
    machine.run(v.initializer)
    (grad,) = tf.gradients(v * v, v)
    assert machine.run(grad) == 6
    (grad,) = tf.gradients(v.read_value() * v, [v])
    assert machine.run(grad) == 6


def test_integers_carry_no_gradient() -> None:
    x = _scalar()
    y = tf.cast(tf.cast(x, tf.int32), tf.float64) * 2
    assert tf.gradients(y, x) == [None]
    n = tf.constant(3)
    assert tf.gradients(n * n, n) == [None]


def test_the_gradient_of_a_lookup_is_slices_of_the_rows_looked_up() -> None:
    table = tf.placeholder(tf.float32, [5, 2])
    ids = tf.constant([1, 3, 1])
    (grad,) = tf.gradients(tf.gather(table, ids) * 2, table)
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.shape == [5, 2]
    feeds = {table: np.zeros((5, 2))}
    assert _run([grad.values, grad.indices], feeds)[1].tolist() == [1, 3, 1]
    dense = _run(tf.convert_to_tensor(grad), feeds)
    assert dense.tolist() == [[0, 0], [4, 4], [0, 0], [2, 2], [0, 0]]


def test_a_lookup_in_rows_that_were_looked_up_several_times_has_a_gradient() -> None:
    table = tf.placeholder(tf.float32, [5, 2])
    rows = tf.gather(table, [1, 3, 1])
    (grad,) = tf.gradients([tf.gather(rows, [0, 2]), tf.gather(rows, [1]) * 3], table)
    dense = _run(tf.convert_to_tensor(grad), {table: np.zeros((5, 2))})
    assert dense.tolist() == [[0, 0], [2, 2], [0, 0], [3, 3], [0, 0]]


@pytest.mark.e2e
def test_a_sum_of_slices_is_slices_and_a_sum_with_a_tensor_is_dense() -> None:
    table = tf.placeholder(tf.float32, [3, 1])
    feeds = {table: np.zeros((3, 1))}
    first, second = tf.gather(table, [0]), tf.gather(table, tf.constant([0, 2], tf.int64))
    (both,) = tf.gradients([first, second * 3], table)
    assert isinstance(both, tf.IndexedSlices)
    assert _run(tf.convert_to_tensor(both), feeds).ravel().tolist() == [4, 0, 3]
    (dense,) = tf.gradients([first, table * 5], table)
    assert isinstance(dense, tf.Tensor)
    assert _run(dense, feeds).ravel().tolist() == [6, 5, 5]


def test_gradients_are_named_after_their_operations(graph: graphs.Graph) -> None:
    x = _scalar()
    y = tf.multiply(x, x, name="m")
    before = graph.version
    tf.gradients(y, x)
    tf.gradients(y, x, name="again")
    names = [node.name for node in graph.nodes(before)]
    assert "gradients/grad_ys_0" in names
    assert "gradients/m_grad/Mul" in names
    assert "again/m_grad/Mul" in names


def test_gradients_can_be_colocated_with_their_operations(graph: graphs.Graph) -> None:
    x = _scalar()
    with tf.device("/job:worker/task:1"):
        y = tf.multiply(x, x, name="m")
    before = graph.version
    with tf.device("/job:ps"):
        tf.gradients(y, x, colocate_gradients_with_ops=True)
    grad = graph.get_operation_by_name("gradients/m_grad/Mul")
    assert grad.device == "/job:worker/task:1"
    assert grad.get_attr("_class") == [b"loc:@m"]
    assert graph.version > before


def test_a_sum_of_gradients_is_colocated_with_the_first_gradient(graph: graphs.Graph) -> None:
    v = tf.Variable(1.0)
    with tf.device("/job:worker/task:1"):
        y = tf.exp(v) * tf.log(v)
    with tf.colocate_with(v), tf.device("/job:ps"):
        (grad,) = tf.gradients(y, v, colocate_gradients_with_ops=True)
    assert grad.op.type == "AddN"
    assert grad.device == "/job:worker/task:1"
    assert grad.op.colocation_groups() == grad.op.inputs[0].op.colocation_groups()


def test_the_sum_of_the_gradients_of_a_tensor_is_built_once(graph: graphs.Graph) -> None:
    x = _scalar()
    h = tf.tanh(x)
    tf.gradients(h * 2 + h, [x, h, h])
    assert [op.type for op in graph.get_operations()].count("AddN") == 1


def test_gated_gradients_wait_for_each_other() -> None:
    x, y = _scalar(), _scalar("y")
    z = tf.multiply(x, y, name="m")
    dx, dy = tf.gradients(z, [x, y], gate_gradients=True)
    assert dx.op.control_inputs == dy.op.control_inputs
    assert len(dx.op.control_inputs) == 1
    assert _run([dx, dy], {x: 2.0, y: 3.0}) == [3, 2]


def test_a_gradient_has_the_static_shape_of_its_tensor() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.placeholder(tf.float32, [3, 2])
    dx, dw = tf.gradients(tf.matmul(x, w), [x, w])
    assert str(dx.shape) == "(?, 3)"
    assert str(dw.shape) == "(3, 2)"


@pytest.mark.parametrize(
    "build, kind, message",
    [
        (
            lambda x: tf.gradients(tf.scatter_update(tf.Variable([0.0]), [0], [tf.to_float(x)]), x),
            LookupError,
            "No gradient defined for operation 'ScatterUpdate' (op type: ScatterUpdate)",
        ),
        (
            lambda x: tf.gradients(x * 2, x, grad_ys=[1.0, 2.0]),
            ValueError,
            "Passed 2 grad_ys for 1 ys",
        ),
        (
            lambda x: tf.gradients(x * 2, x, aggregation_method=7),
            ValueError,
            "Invalid aggregation_method specified 7.",
        ),
        (
            lambda x: tf.gradients(tf.constant(1j), x),
            TypeError,
            "Gradients of complex tensors must set grad_ys (y.dtype = tf.complex128)",
        ),
        (lambda x: tf.gradients(x * 2, None), ValueError, "None values not supported."),
    ],
)
def test_gradients_that_cannot_be_computed_are_refused(
    build: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        build(_scalar())
    assert str(caught.value) == message


def test_an_operation_off_the_path_needs_no_gradient_rule() -> None:
    x = _scalar()
    v = tf.Variable(1.0)
    y = x * tf.cast(v.assign(2.0), tf.float64)
    assert len(tf.gradients(y, x)) == 1


def test_all_aggregation_methods_are_accepted() -> None:
    x = _scalar()
    for method in (tf.AggregationMethod.ADD_N, tf.AggregationMethod.EXPERIMENTAL_TREE, 2):
        assert _run(tf.gradients(x + x, x, aggregation_method=method), {x: 1.0}) == [2]


UNARY: list[Any] = [tf.tanh, tf.sigmoid, tf.square, lambda t: 0.5 * t, lambda t: t - 1.0, tf.exp]
BINARY: list[Any] = [tf.add, tf.multiply, tf.subtract, tf.maximum]


@st.composite
def programs(draw: Any) -> list[tuple[int, int, int]]:
    """Draw instructions (function, operand, operand).

    Operands are indices of values. The first two values are given. Each instruction adds one.
    """
    count = draw(st.integers(1, 8))
    return [
        (
            draw(st.integers(0, len(UNARY) + len(BINARY) - 1)),
            draw(st.integers(0, 1 + index)),
            draw(st.integers(0, 1 + index)),
        )
        for index in range(count)
    ]


@pytest.mark.e2e
@given(programs(), st.floats(-1, 1), st.floats(-1, 1))
def test_gradients_of_random_graphs_agree_with_difference_quotients(
    program: list[tuple[int, int, int]], a: float, b: float
) -> None:
    with graphs.Graph().as_default():
        x, y = _scalar("x"), _scalar("y")
        values = [x, y]
        for function, left, right in program:
            if function < len(UNARY):
                values.append(UNARY[function](tf.tanh(values[left])))
            else:
                values.append(BINARY[function - len(UNARY)](values[left], values[right]))
        loss = values[-1] * 1.5 + values[len(values) // 2]
        computed = _run(
            [0.0 * loss if g is None else g for g in tf.gradients(loss, [x, y])], {x: a, y: b}
        )

        def at(p: float, q: float) -> float:
            return float(_run(loss, {x: p, y: q}))

        h = 1e-6
        expected = [
            (at(a + h, b) - at(a - h, b)) / (2 * h),
            (at(a, b + h) - at(a, b - h)) / (2 * h),
        ]
        near_kink = any(
            math.isclose(left, right, abs_tol=1e-4) for left, right in _maxima(values, {x: a, y: b})
        )
        if not near_kink:
            np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=1e-5)


def _maxima(values: Any, feeds: Any) -> list[tuple[float, float]]:
    inputs = [tensor.op.inputs for tensor in values if tensor.op.type == "Maximum"]
    return [tuple(map(float, _run(list(pair), feeds))) for pair in inputs]  # type: ignore[misc]


def test_a_gradient_holds_a_shape_that_is_known_as_a_constant() -> None:
    parts = [tf.placeholder(tf.float32, [2, size]) for size in (3, 4)]
    tf.gradients(tf.concat(parts, 1), parts)
    types = {op.type for op in tf.get_default_graph().get_operations()}
    assert types.isdisjoint({"Shape", "Rank", "Size"})


@pytest.mark.parametrize("zero", ["zero", tf.UnconnectedGradients.ZERO])
def test_an_x_without_a_y_can_have_zeros_as_its_gradient(zero: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant([1.0, 2.0]), tf.constant(3.0, tf.float64)
        unknown = tf.placeholder(tf.float32)
        variables = [
            tf.get_variable(f"v{number}", [3], use_resource=bool(number)) for number in (0, 1)
        ]
        xs = [y, *variables, unknown, x]
        assert tf.gradients(x * 2.0, xs)[:4] == [None] * 4
        assert tf.gradients(x, y, unconnected_gradients=tf.UnconnectedGradients.NONE) == [None]
        found = tf.gradients(x * 2.0, xs, unconnected_gradients=zero)
        assert [each.dtype.base_dtype for each in found[:3]] == [tf.float64] + [tf.float32] * 2
        # The variables have no values yet. Zeros need only their shapes.
        values = session.run(found, {unknown: [[1.0]]})
        assert [each.tolist() for each in values] == [0.0, [0.0] * 3, [0.0] * 3, [[0.0]], [2.0] * 2]
        with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'some'"):
            tf.gradients(x, y, unconnected_gradients="some")


def test_gradients_of_towers_are_added_as_in_tensorflow(graph: tf.Graph) -> None:
    first = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([1]), tf.constant([3, 1]))
    second = tf.IndexedSlices(tf.constant([[2.0]]), tf.constant([1], tf.int64))
    rows = gradient_sums.aggregate_indexed_slices_gradients([first, None, second])
    dense = gradient_sums.aggregate_indexed_slices_gradients([first, tf.ones([3, 1])])
    assert gradient_sums.aggregate_indexed_slices_gradients([first]) is first
    assert gradient_sums.aggregate_indexed_slices_gradients([]) is None
    assert rows.dense_shape is first.dense_shape
    with tf.Session() as session:
        assert session.run(rows.indices).tolist() == [1, 1]
        assert session.run(rows.values).tolist() == [[1.0], [2.0]]
        assert session.run(dense).tolist() == [[1.0], [2.0], [1.0]]
