"""Any op by its name: conversion of arguments, inference of types, and errors. Also operators."""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.api import barriers
from capstan.framework import convert, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def _f(name: str = "x") -> Any:
    return tf.placeholder(tf.float32, name=name)


def _i(name: str = "i") -> Any:
    return tf.placeholder(tf.int32, name=name)


def test_an_empty_name_puts_an_operation_outside_of_all_scopes(graph: graphs.Graph) -> None:
    with graph.name_scope("outer"):
        x = raw.Const(value=np.float32(1), dtype=tf.float32)
        assert raw.Neg(x, name="").op.name == "Neg"
        assert raw.Neg(x, name="").op.name == "Neg_1"
        assert tf.group(x, name="").name == "NoOp"
        assert tf.group(x).name == "outer/group_deps"
        assert raw.Neg(x).op.name == "outer/Neg"


@pytest.mark.parametrize(
    "value, kept",
    [
        (np.zeros([1, 1, 1], np.uint16), "uint16"),
        (np.zeros([1, 1, 1], np.int64), "uint8"),
        ([[[1]]], "uint8"),
    ],
)
def test_an_array_keeps_its_type_where_the_op_allows_the_type(value: Any, kept: str) -> None:
    assert raw.EncodePng(value).op.inputs[0].dtype.name == kept


def test_results_have_the_form_that_the_row_declares() -> None:
    assert isinstance(raw.NoOp(), graphs.Operation)
    assert isinstance(raw.Exp(1.0), graphs.Tensor)
    parts = raw.Split(0, [1.0, 2.0], num_split=2)
    assert [part.shape for part in parts] == [[1], [1]]
    both = raw.BroadcastGradientArgs([1, 2], [2])
    assert [type(part) for part in both] == [graphs.Tensor] * 2


def test_several_outputs_are_a_namedtuple_of_the_op() -> None:
    rows = tf.unique([3, 3])
    assert (type(rows).__name__, type(rows)._fields) == ("Unique", ("y", "idx"))
    assert type(tf.unique([3])) is type(rows)
    elements = barriers.Barrier([tf.float32, tf.int32]).take_many(2)
    assert (type(elements).__name__, elements._fields) == (
        "BarrierTakeMany",
        ("indices", "keys", "values"),
    )
    assert [value.dtype for value in elements.values] == [tf.float32, tf.int32]
    total = tf.SparseConditionalAccumulator(tf.float32).take_grad(1)
    assert type(total).__name__ == "SparseAccumulatorTakeGradient"
    assert total._fields == ("indices", "values", "shape")


def test_a_constant_takes_the_name_of_its_argument_and_the_type_of_the_others(
    graph: graphs.Graph,
) -> None:
    x = raw.Placeholder(dtype=tf.float64, name="x")
    raw.Mul(2, x)
    assert [(op.name, op.type) for op in graph.get_operations()[1:]] == [
        ("Mul/x", "Const"),
        ("Mul", "Mul"),
    ]
    assert graph.get_tensor_by_name("Mul/x:0").dtype is tf.float64


def test_attributes_come_from_keywords_defaults_and_inputs() -> None:
    op = raw.MatMul(np.ones((1, 2), np.float32), np.ones((1, 2)), transpose_b=True).op
    assert [op.get_attr(name) for name in ("T", "transpose_a", "transpose_b")] == [
        tf.float32,
        False,
        True,
    ]
    assert raw.Pack([1, 2]).op.get_attr("N") == 2
    assert raw.Exp(1.0, _note="a").op.get_attr("_note") == "a"


def test_inputs_may_be_given_by_keyword() -> None:
    x = _f()
    assert raw.Sub(y=x, x=1.0).op.inputs[1] is x


def test_a_value_without_a_type_takes_the_default_of_the_type_attribute() -> None:
    assert raw.Reshape(_f(), [2]).op.inputs[1].dtype is tf.int32


@pytest.mark.parametrize(
    "build, message",
    [
        (
            lambda: raw.Add(_f(), _i("y")),
            "Input 'y' of 'Add' Op has type int32 that does not match type float32 of "
            "argument 'x'.",
        ),
        (
            lambda: raw.Select(_f(), 1.0, 2.0),
            "Input 'condition' of 'Select' Op has type float32 that does not match "
            "expected type of bool.",
        ),
        (
            lambda: raw.Select(1, 1.0, 2.0),
            "Expected bool passed to parameter 'condition' of op 'Select', got 1 of type "
            "'int' instead.",
        ),
        (
            lambda: raw.Add(_f(), "a"),
            "Expected float32 passed to parameter 'y' of op 'Add', got 'a' of type 'str' instead.",
        ),
        (
            lambda: raw.MatMul(True, True),
            "Value passed to parameter 'a' has DataType bool not in list of allowed values: ",
        ),
        (
            lambda: raw.AddN([_f(), _i()]),
            "Tensors in list passed to 'inputs' of 'AddN' Op have types [float32, int32] "
            "that don't all match.",
        ),
        (lambda: raw.AddN(_f()), "Expected list for 'inputs' argument to 'AddN' Op, not Tensor("),
        (
            lambda: raw.Assign(_f(), 1.0),
            "'Assign' Op requires that input 'ref' be a mutable tensor (e.g.: a tf.Variable)",
        ),
        (
            lambda: raw.MatMul(_f(), _f(), transpose_a=3),
            "Expected bool for argument 'transpose_a' not 3.",
        ),
        (lambda: raw.Pack([1.0], axis="a"), "Expected int for argument 'axis' not 'a'."),
        (
            lambda: raw.Bucketize(1.0, boundaries=[1, "a"]),
            "Expected float for argument 'boundaries' not 'a'.",
        ),
        (lambda: raw.Cast(1.0, DstT="no"), "Expected DataType for argument 'DstT' not 'no'."),
        (
            lambda: raw.Placeholder(dtype=tf.int32, shape="ab"),
            "Error converting shape to a TensorShape: 'ab' is not a shape",
        ),
        (lambda: raw.VariableV2(dtype=tf.int32), "No argument for attr shape of op VariableV2"),
        (
            lambda: raw.Squeeze([1], squeeze_dims=1),
            "Expected list for attr squeeze_dims, obtained int instead.",
        ),
        (lambda: raw.Add(1.0), "No argument for input y of op Add"),
        (
            lambda: raw.Add(1.0, 2.0, 3.0),
            "op Add takes 2 inputs (x, y), but got 3; attributes are given by keyword",
        ),
        (lambda: raw.Add(1.0, 2.0, x=3.0), "op Add got two values for argument 'x'"),
        (lambda: raw.Add(1.0, 2.0, foo=3.0), "op Add got an unexpected keyword argument 'foo'"),
    ],
)
def test_wrong_arguments_are_type_errors(build: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        build()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "boundaries", [[1, 2.5, 4], [1, 2], (0.5,), np.array([1, 2]).tolist(), [np.int64(3), 4.5], []]
)
def test_a_list_of_floats_takes_all_real_numbers(boundaries: Any) -> None:
    with tf.Graph().as_default() as graph:
        buckets = raw.Bucketize([0.0, 1.0, 3.0], boundaries=boundaries)
        (node,) = [each for each in graph.as_graph_def().node if each.op == "Bucketize"]
        assert node.attr["boundaries"].list.f == list(boundaries)
        with tf.Session() as session:
            assert session.run(buckets).tolist() == np.digitize([0, 1, 3], boundaries).tolist()


@pytest.mark.parametrize(
    "build, message",
    [
        (
            lambda: raw.Add(_f(), None),
            "Tried to convert 'y' to a tensor and failed. Error: None values not supported.",
        ),
        (
            lambda: raw.MatMul(np.ones((2, 3)), np.ones((2, 3))),
            "Dimensions must be equal, but are 3 and 2 for 'MatMul' (op: 'MatMul') with "
            "input shapes: [2,3], [2,3].",
        ),
        (
            lambda: raw.Add([1, 2], [1, 2, 3], name="s"),
            "Dimensions must be equal, but are 2 and 3 for 's' (op: 'Add') with input "
            "shapes: [2], [3].",
        ),
        (
            lambda: raw.AddN([]),
            "List argument 'inputs' to 'AddN' Op with length 0 shorter than minimum length 1.",
        ),
        (
            lambda: tf.FIFOQueue(10, []),
            "Attr 'component_types' of 'FIFOQueueV2' Op passed list of length 0 less than "
            "minimum 1.",
        ),
        (
            lambda: barriers.Barrier(()),
            "Attr 'component_types' of 'Barrier' Op passed list of length 0 less than minimum 1.",
        ),
        (
            lambda: raw.StageSize(dtypes=[tf.int32], capacity=-1),
            "Attr 'capacity' of 'StageSize' Op passed -1 less than minimum 0.",
        ),
        (
            lambda: tf.split([1.0], 0),
            "Attr 'num_split' of 'Split' Op passed 0 less than minimum 1.",
        ),
        (
            lambda: tf.ConditionalAccumulator(tf.float32, reduction_type="BAD"),
            "Attr 'reduction_type' of 'ResourceConditionalAccumulator' Op passed string 'BAD' "
            'not in: "MEAN", "SUM".',
        ),
    ],
)
def test_wrong_values_are_value_errors(build: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        build()
    assert str(caught.value) == message


def test_a_shape_error_names_the_values_that_it_depends_on() -> None:
    with pytest.raises(ValueError) as caught:
        raw.Reshape(np.zeros(4), [3])
    assert str(caught.value).endswith(
        "for 'Reshape' (op: 'Reshape') with input shapes: [4], [1] and with computed input "
        "tensors: input[1] = <[3]>."
    )


def test_an_op_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="there is no op 'NoSuchOp'"):
        _ = raw.NoSuchOp


def test_references_can_be_used_as_values() -> None:
    v = tf.Variable(1.0)
    assert raw.Exp(v).op.inputs[0] is v.value()
    assert raw.Assign(v, 2.0).op.inputs[0] is v._ref()
    assert raw.Exp(v.assign(2.0)).dtype is tf.float32


def test_every_row_is_consistent() -> None:
    for row in opdef.all_rows():
        arguments = (*row.input_arguments, *row.output_arguments)
        names = [argument.name for argument in row.input_arguments]
        assert len(set(names)) == len(names), row.name
        assert not set(names) & set(row.attrs), row.name
        implied = {a.type for a in row.input_arguments} | {a.number for a in row.input_arguments}
        for argument in row.output_arguments:
            known = argument.type in row.attrs or argument.type in implied
            assert known or tf.as_dtype(argument.type), f"{row.name} does not fix {argument}"
            assert argument.number is None or argument.number in implied | set(row.attrs), row.name
        for name in row.types:
            is_attribute = name in implied | set(row.attrs)
            assert is_attribute, f"`types` of {row.name} has {name}, which is not an attribute"
        texts = (*row.inputs, *row.outputs)
        assert all(opdef.Argument.parse(text) in arguments for text in texts), row.name


# --- conversion to tensors


def test_tensors_and_variables_are_converted_to_their_own_tensors() -> None:
    x, v = _f(), tf.Variable([1.0])
    assert tf.convert_to_tensor(x) is x
    assert tf.convert_to_tensor(v) is v.value()
    assert convert.convert_to_tensor(v, as_ref=True) is v._ref()
    assert tf.convert_to_tensor_or_indexed_slices(None) is None


@pytest.mark.parametrize(
    "build, kind, message",
    [
        (
            lambda: tf.convert_to_tensor(_f(), tf.int32),
            ValueError,
            "Tensor conversion requested dtype int32 for Tensor with dtype float32: ",
        ),
        (
            lambda: tf.convert_to_tensor(tf.Variable(1.0), tf.int32),
            ValueError,
            "Incompatible type conversion requested to type 'int32' for variable of type "
            "'float32_ref'",
        ),
        (
            lambda: tf.convert_to_tensor(tf.no_op()),
            TypeError,
            "Can't convert Operation 'NoOp' to Tensor",
        ),
        (
            lambda: tf.convert_to_tensor(tf.TensorShape([None])),
            ValueError,
            "Cannot convert a partially known TensorShape to a Tensor: (?,)",
        ),
        (
            lambda: tf.convert_to_tensor(tf.Dimension(None)),
            ValueError,
            "Cannot convert an unknown Dimension to a Tensor: ?",
        ),
        (
            lambda: tf.convert_to_tensor(tf.TensorShape([1]), tf.float32),
            TypeError,
            "Cannot convert a TensorShape to dtype: float32",
        ),
        (
            lambda: tf.convert_to_tensor([_f(), _i()]),
            TypeError,
            "Cannot convert a list containing tensors of different dtypes: [float32, int32]",
        ),
        (
            lambda: tf.convert_to_tensor(tf.IndexedSlices(_f(), _i())),
            ValueError,
            "Tensor conversion requested for IndexedSlices without dense_shape: ",
        ),
    ],
)
def test_a_value_that_cannot_be_a_tensor_is_refused(
    build: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert str(caught.value).startswith(message)


def test_a_preferred_type_that_does_not_fit_is_ignored() -> None:
    assert tf.convert_to_tensor(1, preferred_dtype=tf.float32).dtype is tf.float32
    assert tf.convert_to_tensor(1.5, preferred_dtype=tf.int32).dtype is tf.float32


def test_shapes_are_converted_to_vectors_of_integers() -> None:
    assert tf.convert_to_tensor(tf.TensorShape([2, 3])).op.get_attr("value").tolist() == [2, 3]
    assert tf.convert_to_tensor(tf.TensorShape([2**40])).dtype is tf.int64
    assert tf.convert_to_tensor(tf.TensorShape([2]), tf.int64).dtype is tf.int64
    assert tf.convert_to_tensor(tf.Dimension(3)).shape == []


def test_the_tensors_of_a_list_are_cast_if_the_first_has_another_type(graph: graphs.Graph) -> None:
    packed = tf.convert_to_tensor([[tf.constant(3, tf.int64), 1], [2, _f()]], tf.int32)
    assert packed.dtype is tf.int32
    assert [op.type for op in graph.get_operations()].count("Cast") == 2
    sizes = tf.convert_to_tensor([tf.Variable(2.5), tf.constant(3)], tf.int32)
    assert sizes.op.inputs[0].op.type == "Cast"
    assert sizes.op.inputs[1].op.type == "Const"
    with pytest.raises(TypeError, match=r"Expected int32, got 1\.5 of type 'float'"):
        tf.convert_to_tensor([_f(), 1.5], tf.int32)
    with pytest.raises(TypeError, match=r"different dtypes: \[int32, float32\]"):
        tf.convert_to_tensor([_i(), _f()], tf.int32)


def test_lists_that_hold_tensors_are_stacked(graph: graphs.Graph) -> None:
    x = tf.constant(1.0, name="x")
    packed = tf.convert_to_tensor([[x, 2], [3, tf.Variable(4.0)]], name="p")
    assert packed.shape == [2, 2]
    assert packed.op.name == "p"
    assert [tensor.op.type for tensor in packed.op.inputs] == ["Pack", "Pack"]


def test_a_constant_is_independent_of_its_source_array() -> None:
    array = np.zeros(3, np.float32)
    value = tf.constant(array).op.get_attr("value")
    array[0] = 1
    assert value.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="read-only"):
        value[0] = 1


# --- operators


@pytest.mark.parametrize(
    "build, op, name",
    [
        (lambda x: x + 1, "AddV2", "add"),
        (lambda x: 1 + x, "AddV2", "add"),
        (lambda x: x - 1, "Sub", "sub"),
        (lambda x: 1 - x, "Sub", "sub"),
        (lambda x: x * 2, "Mul", "mul"),
        (lambda x: 2 * x, "Mul", "mul"),
        (lambda x: x / 2, "RealDiv", "truediv"),
        (lambda x: 2 / x, "RealDiv", "truediv"),
        (lambda x: x // 2, "FloorDiv", "floordiv"),
        (lambda x: 2 // x, "FloorDiv", "floordiv"),
        (lambda x: x % 2, "FloorMod", "mod"),
        (lambda x: 2 % x, "FloorMod", "mod"),
        (lambda x: x**2, "Pow", "pow"),
        (lambda x: 2**x, "Pow", "pow"),
        (lambda x: x @ np.ones((2, 2)), "MatMul", "matmul"),
        (lambda x: np.ones((2, 2)) @ x, "MatMul", "matmul"),
        (lambda x: np.ones((2, 2)) + x, "AddV2", "add"),
        (lambda x: x < 1, "Less", "Less"),
        (lambda x: x <= 1, "LessEqual", "LessEqual"),
        (lambda x: x > 1, "Greater", "Greater"),
        (lambda x: x >= 1, "GreaterEqual", "GreaterEqual"),
        (lambda x: -x, "Neg", "Neg"),
        (lambda x: abs(x), "Abs", "Abs"),
        (lambda x: x[0], "StridedSlice", "strided_slice"),
    ],
)
@pytest.mark.parametrize("kind", ["tensor", "variable"])
def test_operators_add_operations(build: Any, op: str, name: str, kind: str) -> None:
    x = tf.ones([2, 2]) if kind == "tensor" else tf.Variable(np.ones((2, 2), np.float32))
    result = build(x)
    assert (result.op.type, result.op.name) == (op, name)
    assert result.dtype is (tf.bool if op.startswith(("Less", "Greater")) else tf.float32)


def test_logical_operators_add_operations() -> None:
    x, y = tf.constant(True), tf.constant(False)
    results = [(x & y), (x | y), (x ^ y), ~x, (True & x), (False | x), (True ^ x)]
    assert [t.op.type.removeprefix("Logical") for t in results] == [
        "And", "Or", "And", "Not", "And", "Or", "And",
    ]  # fmt: skip
    assert [t.op.name for t in results[:3]] == ["and", "or", "xor"]


@pytest.mark.parametrize(
    "kind, quotient",
    [
        (tf.int8, tf.float32),
        (tf.uint16, tf.float32),
        (tf.int32, tf.float64),
        (tf.uint64, tf.float64),
        (tf.float32, tf.float32),
    ],
)
def test_the_quotient_of_integers_is_a_float(kind: Any, quotient: Any) -> None:
    x = tf.constant(1, kind)
    assert (x / x).dtype is quotient


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: tf.constant(1) * 2.5, "Expected int32, got 2.5 of type 'float' instead."),
        (lambda: 2.5 - tf.constant(1), "Expected int32, got 2.5 of type 'float' instead."),
        (
            lambda: tf.constant(1) / tf.constant(1.0),
            "x and y must have the same dtype, got tf.int32 != tf.float32",
        ),
        (
            lambda: tf.constant(1) + tf.constant(1.0),
            "Input 'y' of 'AddV2' Op has type float32 that does not match type int32 of "
            "argument 'x'.",
        ),
    ],
)
def test_operators_never_mix_types(build: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        build()
    assert str(caught.value) == message


def test_fewer_tensors_than_the_op_needs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Attr 'N' of 'ConcatV2' Op passed 1 less than minimum 2"):
        raw.ConcatV2([tf.constant([1.0])], 0)
