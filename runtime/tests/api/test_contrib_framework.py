"""`tf.contrib.framework`: checks of shapes, and functions that look at the graph."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

framework = tf.contrib.framework


def test_old_names_give_the_functions_of_tf() -> None:
    for name in ("sort", "argsort", "is_tensor", "py_func", "is_numeric_tensor"):
        assert getattr(framework, name) is getattr(tf, name)


def test_a_known_shape_is_checked_at_once() -> None:
    ones = tf.ones([2, 3])
    assert framework.with_shape([2, 3], ones) is ones
    assert framework.with_shape(tf.TensorShape([2, None]), ones) is ones
    with pytest.raises(ValueError, match=r"Invalid shape for tensor ones:0, expected \[2, 4\]"):
        framework.with_shape([2, 4], ones)
    with pytest.raises(ValueError, match="Invalid rank 2"):
        framework.with_shape([[2, 3]], ones)
    with pytest.raises(ValueError, match=r"Invalid dtype .*float64"):
        framework.with_shape([2.0, 3.0], ones)
    sparse = tf.SparseTensor([[0]], [1.0], [1])
    with pytest.raises(ValueError, match="SparseTensor not supported"):
        framework.with_shape([1], sparse)


@pytest.mark.parametrize("is_tensor", [False, True])
@pytest.mark.parametrize(
    "shape, fits",
    [([2, 3], True), ([2, -1], True), ([2, 4], False), ([2], False), ([2, 3, 1], False)],
)
def test_an_unknown_shape_is_checked_in_the_step(
    shape: list[int], fits: bool, is_tensor: bool
) -> None:
    x = tf.placeholder(tf.float32, name="x")
    checked = framework.with_shape(tf.constant(shape) if is_tensor else shape, x)
    if not is_tensor:
        assert checked.shape.as_list() == [None if size == -1 else size for size in shape]
    with tf.Session() as session:
        if fits:
            assert session.run(checked, {x: np.ones((2, 3))}).shape == (2, 3)
            return
        with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape for x:0"):
            session.run(checked, {x: np.ones((2, 3))})


def test_a_tensor_with_one_element_becomes_a_scalar() -> None:
    unknown = tf.placeholder(tf.float32)
    scalars = framework.with_shape([], tf.ones([1])), framework.with_shape([], unknown)
    with tf.Session() as session:
        assert [value.shape for value in session.run(scalars, {unknown: [3.0]})] == [(), ()]


def test_two_tensors_must_have_the_same_shape() -> None:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    same = framework.with_same_shape(x, y)
    with tf.Session() as session:
        assert session.run(same, {x: [1, 2], y: [3, 4]}).tolist() == [3, 4]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape"):
            session.run(same, {x: [1, 2], y: [3]})


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    "shapes, squeezed", [([(3, 1), (3,)], [(3,), (3,)]), ([(3,), (3, 1)], [(3,), (3,)]),
                         ([(3, 1), (3, 1)], [(3, 1), (3, 1)])],
)  # fmt: skip
def test_a_surplus_last_axis_is_removed(shapes: Any, squeezed: Any, is_known: bool) -> None:
    values = [np.zeros(shape, np.float32) for shape in shapes]
    fed = [tf.placeholder(tf.float32, shape if is_known else None) for shape in shapes]
    found = framework.remove_squeezable_dimensions(*fed)
    with tf.Session() as session:
        results = session.run(found, dict(zip(fed, values, strict=True)))
    assert [result.shape for result in results] == squeezed


def test_all_tensors_are_summed_to_one_number() -> None:
    total = framework.reduce_sum_n([tf.constant([1, 2]), tf.constant([[3]])], name="total")
    with tf.Session() as session:
        assert session.run(total) == 6
    assert total.op.name == "total"
    with pytest.raises(ValueError, match="No tensors"):
        framework.reduce_sum_n([])


def test_a_scalar_must_be_an_integer() -> None:
    assert framework.assert_scalar_int(tf.constant(3)).shape.ndims == 0
    with pytest.raises(ValueError, match="Expected integer type"):
        framework.assert_scalar_int(3.0)
    with pytest.raises(ValueError, match="Expected scalar shape"):
        framework.assert_scalar_int([1, 2])


def test_the_graph_scope_and_placeholders_are_found() -> None:
    x, other = tf.placeholder(tf.float32), tf.Graph()
    assert framework.get_placeholders(tf.get_default_graph()) == [x]
    with tf.name_scope("a"), tf.name_scope("b"):
        assert framework.get_name_scope() == "a/b"
    with other.as_default():
        assert framework.get_graph_from_inputs([x]) is x.graph
        assert framework.get_graph_from_inputs([]) is other
    with pytest.raises(ValueError, match="passed-in graph"):
        framework.get_graph_from_inputs([x], other)
    for function in (framework.get_placeholders, framework.get_graph_from_inputs):
        with pytest.raises(TypeError):
            function("graph")


@pytest.mark.parametrize("outer, inner", [("x", "a/x"), ("^x:0", "^a/x:0"), ("loc:@x", "loc:@a/x")])
def test_names_move_into_scopes_and_out_of_them(outer: str, inner: str) -> None:
    assert framework.prepend_name_scope(outer, "a/") == inner
    assert framework.strip_name_scope(inner, "a") == outer
    assert framework.prepend_name_scope(outer, None) == outer
    assert framework.strip_name_scope(inner, None) == inner
    assert framework.strip_name_scope("ba/x", "a") == "ba/x"


def test_a_known_predicate_decides_while_the_graph_is_built() -> None:
    fed = tf.placeholder_with_default(True, [])

    def wrong() -> None:
        raise AssertionError("this branch is not built")

    assert framework.smart_cond(True, lambda: 1, wrong) == 1
    assert framework.smart_cond(tf.constant(False), wrong, lambda: 2) == 2
    assert framework.smart_cond(np.bool_(True), lambda: 1, wrong) == 1
    chosen = framework.smart_cond(fed, lambda: tf.constant(3), lambda: tf.constant(4))
    with tf.Session() as session:
        assert session.run(chosen) == 3
        assert session.run(chosen, {fed: False}) == 4
    assert framework.smart_constant_value(0) is False
    assert framework.smart_constant_value(fed) is None
    two = tf.constant(1) + 1
    assert framework.smart_cond(tf.less(two, 3), lambda: 1, wrong) == 1
    assert framework.smart_cond(tf.logical_not(tf.equal(two, 2)), wrong, lambda: 2) == 2
    for pred in (tf.logical_not(fed), tf.less(tf.random_uniform([]), 2.0), tf.Variable(True)):
        assert framework.smart_constant_value(pred) is None
    for pred in ("yes", 2, None):
        with pytest.raises(TypeError, match="`pred` must be"):
            framework.smart_constant_value(pred)
    with pytest.raises(TypeError, match="`false_fn` must be callable"):
        framework.smart_cond(True, lambda: 1)


@pytest.mark.parametrize("exclusive", [False, True])
def test_the_first_true_predicate_decides(exclusive: bool) -> None:
    fed = tf.placeholder_with_default(False, [])

    def number(value: int) -> Any:
        return lambda: tf.constant(value)

    cases = [(False, number(0)), (fed, number(1)), (True, number(2))]
    chosen = framework.smart_case(cases, exclusive=exclusive)
    with tf.Session() as session:
        assert session.run(chosen) == 2
        if exclusive:
            with pytest.raises(tf.errors.InvalidArgumentError, match="exclusive"):
                session.run(chosen, {fed: True})
        else:
            assert session.run(chosen, {fed: True}) == 1
    assert framework.smart_case([(False, number(0))], default=lambda: 5) == 5
    with pytest.raises(ValueError, match="no default"):
        framework.smart_case([(False, number(0))])


def test_a_global_step_is_checked_or_found() -> None:
    assert framework.assert_or_get_global_step() is None
    step = tf.train.create_global_step()
    assert framework.assert_or_get_global_step() is step
    assert framework.assert_or_get_global_step(global_step_tensor=step) is step
    with pytest.raises(TypeError, match="integer"):
        framework.assert_or_get_global_step(global_step_tensor=tf.constant(1.0))
