"""`tf.raw_ops` has every operation as a function of keywords."""

import inspect

import pytest

import capstan as tf


def test_an_operation_takes_its_inputs_and_attributes_by_keyword() -> None:
    product = tf.raw_ops.MatMul(a=[[1.0, 2.0]], b=[[3.0, 4.0]], transpose_b=True, name="product")
    assert product.op.type == "MatMul"
    assert product.name == "product:0"
    with tf.Session() as session:
        assert session.run(product).tolist() == [[11.0]]


def test_the_signature_has_the_inputs_first_and_the_defaults_last() -> None:
    signature = inspect.signature(tf.raw_ops.Cumsum)
    assert list(signature.parameters) == ["x", "axis", "exclusive", "reverse", "name"]
    assert signature.parameters["exclusive"].default is False


def test_arguments_by_position_are_refused_with_the_names_of_the_arguments() -> None:
    with pytest.raises(TypeError, match=r"MatMul only takes keyword args .*'a', 'b', 'transpose_a"):
        tf.raw_ops.MatMul([[1.0]], [[2.0]])


def test_an_unknown_operation_is_no_attribute_and_the_others_are_listed() -> None:
    with pytest.raises(AttributeError, match="no operation 'NoSuchOp'"):
        tf.raw_ops.NoSuchOp  # noqa: B018 - the access fails
    assert {"MatMul", "VarHandleOp"} <= set(dir(tf.raw_ops))
    assert not any(name.startswith("_") for name in dir(tf.raw_ops))


def test_a_list_of_shapes_and_types_may_hold_lists_and_names() -> None:
    full = tf.raw_ops.FIFOQueue(component_types=["int32", tf.float32], shapes=[[], [None, 2]])
    assert full.op.get_attr("component_types") == [tf.int32, tf.float32]
    assert [shape.as_list() for shape in full.op.get_attr("shapes")] == [[], [None, 2]]
    barrier = tf.raw_ops.Barrier(component_types=[tf.int32], shapes=[tf.TensorShape([])])
    with tf.Session() as session:
        assert session.run(tf.raw_ops.QueueSize(handle=full)) == 0
        assert session.run(tf.raw_ops.BarrierReadySize(handle=barrier)) == 0
    with pytest.raises(TypeError, match="Error converting shapes to a TensorShape"):
        tf.raw_ops.FIFOQueue(component_types=[tf.int32], shapes=["x"])
    with pytest.raises(TypeError, match="Expected DataType for argument 'component_types'"):
        tf.raw_ops.FIFOQueue(component_types=[3.5])
