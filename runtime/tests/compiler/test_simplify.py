"""Simplification: constants are folded and equal nodes are merged. Feeds are left alone."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import capstan.kernels  # noqa: F401 - fills the table
from capstan.core import dtypes, shapes, tensor_shape
from capstan.core import node as ir
from capstan.executor import fold
from capstan.framework import ops  # noqa: F401 - fills the registry
from capstan.graph import infer, simplify

Edge = ir.Edge
FLOAT = {"T": dtypes.float32}


def constant(name: str, value: object, dtype: dtypes.DType = dtypes.float32) -> ir.Node:
    array = np.array(value, dtype.as_numpy_dtype)
    return ir.Node(name, "Const", attrs={"dtype": dtype, "value": array})


def placeholder(name: str) -> ir.Node:
    attrs = {"dtype": dtypes.float32, "shape": tensor_shape.TensorShape(None)}
    return ir.Node(name, "Placeholder", attrs=attrs)


def make(op: str, name: str, *inputs: str, control: tuple[str, ...] = ()) -> ir.Node:
    attrs = {**FLOAT, "out_type": dtypes.int32} if op == "Shape" else FLOAT
    return ir.Node(name, op, tuple(map(Edge, inputs)), control, attrs=attrs)


def simplified(
    *nodes: ir.Node, feeds: dict[Edge, infer.Fed] | None = None, keep: tuple[str, ...] = ()
) -> tuple[dict[str, ir.Node], infer.Knowledge]:
    graph = {node.name: node for node in nodes}
    return simplify.simplify(graph, feeds or {}, frozenset(keep), fold.evaluate)


def test_a_node_with_constant_inputs_becomes_a_constant() -> None:
    result, known = simplified(constant("a", 2), constant("b", 3), make("Mul", "c", "a", "b"))
    assert result["c"].op == "Const"
    assert result["c"].attrs["value"] == 6
    assert known.constants[Edge("c")] == 6


def test_the_known_shape_of_a_feed_becomes_a_constant() -> None:
    for shape, op in (((4, 2), "Const"), (None, "Shape")):
        feeds = {Edge("x"): infer.Fed(dtypes.float32, shape)}
        result, _ = simplified(placeholder("x"), make("Shape", "s", "x"), feeds=feeds)
        assert result["s"].op == op
    assert feeds


def test_a_fed_constant_is_not_folded() -> None:
    feeds = {Edge("a"): infer.Fed(dtypes.float32, ())}
    result, known = simplified(constant("a", 2), make("Neg", "b", "a"), feeds=feeds)
    assert result["b"].op == "Neg"
    assert Edge("a") not in known.constants


def test_a_fed_node_does_not_replace_an_equal_node() -> None:
    feeds = {Edge("one"): infer.Fed(dtypes.float32, ())}
    result, _ = simplified(
        placeholder("x"),
        make("Neg", "one", "x"),
        make("Neg", "two", "x"),
        make("Abs", "y", "two"),
        feeds=feeds,
    )
    assert result["y"].inputs == (Edge("two"),)


def test_nodes_that_compute_the_same_are_merged() -> None:
    result, _ = simplified(
        placeholder("x"),
        make("Neg", "one", "x"),
        make("Neg", "two", "x"),
        make("Add", "sum", "one", "two"),
    )
    assert "two" not in result
    assert result["sum"].inputs == (Edge("one"), Edge("one"))


def test_a_fetched_node_keeps_its_name() -> None:
    nodes = (placeholder("x"), make("Neg", "one", "x"), make("Neg", "two", "x"))
    assert set(simplified(*nodes, keep=("two",))[0]) == {"x", "one", "two"}


def test_reads_before_and_after_an_assignment_are_not_merged() -> None:
    attrs = {"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([])}
    result, _ = simplified(
        ir.Node("v", "VariableV2", attrs=attrs),
        make("Identity", "before", "v"),
        make("AssignAdd", "add", "v", "before"),
        make("Identity", "after", "v", control=("add",)),
    )
    assert set(result) == {"v", "before", "add", "after"}


def test_random_nodes_are_never_merged_or_folded() -> None:
    attrs = {"dtype": dtypes.float32, "T": dtypes.int32, "seed": 1, "seed2": 2}
    size = constant("size", [3], dtypes.int32)
    draws = [ir.Node(name, "RandomUniform", (Edge("size"),), attrs=attrs) for name in "ab"]
    result, _ = simplified(size, *draws)
    assert [result[name].op for name in "ab"] == ["RandomUniform", "RandomUniform"]


def test_a_node_whose_kernel_fails_is_not_folded() -> None:
    result, _ = simplified(
        constant("a", [1, 2]), constant("b", [1, 2, 3]), make("Add", "c", "a", "b")
    )
    assert result["c"].op == "Add"


def test_each_output_of_a_folded_node_becomes_a_constant() -> None:
    result, _ = simplified(
        constant("rows", [4, 1], dtypes.int32),
        constant("columns", [1, 3], dtypes.int32),
        ir.Node(
            "args",
            "BroadcastGradientArgs",
            (Edge("rows"), Edge("columns")),
            attrs={"T": dtypes.int32},
        ),
        ir.Node("after", "NoOp", (), ("args",)),
        ir.Node(
            "second",
            "Placeholder",
            (),
            attrs={"dtype": dtypes.int32, "shape": tensor_shape.TensorShape(None)},
        ),
        ir.Node("y", "Add", (Edge("args", 1), Edge("second")), attrs={"T": dtypes.int32}),
    )
    assert "args" not in result
    assert result["y"].inputs == (Edge("args/folded_1"), Edge("second"))
    assert result["args/folded_0"].attrs["value"].tolist() == [1]
    assert result["args/folded_1"].attrs["value"].tolist() == [0]
    assert result["after"].control == ("args/folded_0",)


def test_a_result_that_is_too_large_is_not_computed() -> None:
    """The master may have less memory than a parameter server."""

    def evaluate(node: ir.Node, values: Sequence[np.ndarray]) -> None:
        raise AssertionError(f"{node.name} was computed")

    dims = constant("dims", [1 << 16, 1 << 16], dtypes.int32)
    zero = constant("zero", 0)
    attrs = {**FLOAT, "index_type": dtypes.int32}
    fill = ir.Node("fill", "Fill", (Edge("dims"), Edge("zero")), attrs=attrs)
    graph = {node.name: node for node in (dims, zero, fill)}
    result, _ = simplify.simplify(graph, {}, frozenset(["fill"]), evaluate)
    assert result["fill"].op == "Fill"


def test_a_fetched_node_with_several_outputs_is_not_folded() -> None:
    nodes = (
        constant("rows", [4, 1], dtypes.int32),
        ir.Node(
            "args", "BroadcastGradientArgs", (Edge("rows"), Edge("rows")), attrs={"T": dtypes.int32}
        ),
    )
    assert simplified(*nodes, keep=("args",))[0]["args"].op == "BroadcastGradientArgs"


def test_a_folded_constant_keeps_the_control_dependencies_of_its_inputs() -> None:
    first = ir.Node("first", "NoOp")
    late = ir.Node("late", "Const", (), ("first",), attrs=dict(constant("c", 2).attrs))
    result, _ = simplified(first, late, constant("a", 3), make("Mul", "y", "late", "a"))
    assert (result["y"].op, result["y"].control) == ("Const", ("first",))


def test_a_folded_shape_waits_for_its_input_if_the_input_changes_a_variable() -> None:
    attrs = {"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([2])}
    v = ir.Node("v", "VariableV2", attrs=attrs)
    nodes = (v, constant("one", [1, 1]), make("AssignAdd", "more", "v", "one"))
    result, _ = simplified(*nodes, make("Shape", "s", "more"), make("Shape", "t", "v"))
    assert (result["s"].op, result["s"].control) == ("Const", ("more",))
    assert (result["t"].op, result["t"].control) == ("Const", ())


def test_a_shape_that_is_computed_in_a_branch_stays_in_the_branch() -> None:
    decision = constant("decision", True, dtypes.bool_)
    switch = ir.Node("switch", "Switch", (Edge("x"), Edge("decision")), attrs=FLOAT)
    passed = make("Identity", "taken", "switch")
    feeds = {
        Edge("x"): infer.Fed(dtypes.float32, (2,)),
        Edge("decision"): infer.Fed(dtypes.bool_, ()),
    }
    nodes = (placeholder("x"), decision, switch, passed)
    last = (make("Shape", "s", "switch"), make("Shape", "t", "taken"))
    result, _ = simplified(*nodes, *last, feeds=feeds)
    assert result["s"].op == "Shape"
    assert (result["t"].op, result["t"].control) == ("Const", ("taken",))


INDEX = dict.fromkeys(("Tidx", "Tshape", "Tperm", "Tmultiples", "Tpaddings"), dtypes.int32)


def copying(op: str, name: str, *inputs: str, **attrs: object) -> ir.Node:
    edges = tuple(map(Edge, inputs))
    return ir.Node(name, op, edges, attrs={**FLOAT, **INDEX, "Index": dtypes.int32, **attrs})


def passes(copy: ir.Node, shape: shapes.Shape, *others: ir.Node) -> bool:
    """Return whether the reader of `copy`, which reads `x`, reads `x` instead."""
    feeds = {Edge("x"): infer.Fed(dtypes.float32, shape)}
    result, _ = simplified(
        placeholder("x"), *others, copy, make("Neg", "y", copy.name), feeds=feeds
    )
    return result["y"].inputs == (Edge("x"),)


def test_a_node_whose_output_equals_its_input_is_left_out() -> None:
    for op, value, shape, expected in (
        ("Reshape", [2, 3], (2, 3), True),
        ("Reshape", [3, 2], (2, 3), False),
        ("Reshape", [-1, 3], (None, 3), True),
        ("Reshape", [-1, 0], (None, 0), False),
        ("Sum", [], (None, 3), True),
        ("Sum", [0], (1, 3), False),
        ("Transpose", [0, 1], (None, 3), True),
        ("Transpose", [1, 0], (3, 3), False),
        ("Transpose", [0, 1], None, False),
        ("Tile", [1, 1], (2, 3), True),
        ("Tile", [1, 1], (None, 3), False),
        ("Pad", [[0, 0], [0, 0]], (2, 3), True),
        ("BroadcastTo", [2, 3], (2, 3), True),
        ("BroadcastTo", [2, 3], (1, 3), False),
    ):
        second = constant("second", value, dtypes.int32)
        copy = copying(op, "copy", "x", "second", keep_dims=False)
        assert passes(copy, shape, second) is expected, (op, value, shape)
    second = constant("second", [0], dtypes.int32)
    assert passes(copying("Sum", "copy", "x", "second", keep_dims=True), (1, 3), second)
    begin = constant("begin", [0, 0], dtypes.int32)
    size = constant("size", [2, -1], dtypes.int32)
    assert passes(copying("Slice", "copy", "x", "begin", "size"), (2, 3), begin, size)


def test_a_copy_remains_if_it_must_wait_or_check_an_input() -> None:
    late = replace(constant("late", [2, 3], dtypes.int32), control=("first",))
    first = ir.Node("first", "NoOp")
    assert not passes(copying("Reshape", "copy", "x", "late"), (2, 3), first, late)
    begin = replace(
        placeholder("begin"), attrs={"dtype": dtypes.int32, "shape": tensor_shape.TensorShape([2])}
    )
    size = constant("size", [2, 3], dtypes.int32)
    assert not passes(copying("Slice", "copy", "x", "begin", "size"), (2, 3), begin, size)
    shape = constant("shape", [2, 3], dtypes.int32)
    copy = replace(copying("Reshape", "copy", "x", "shape"), control=("first",))
    assert not passes(copy, (2, 3), first, shape)


def test_a_control_edge_from_a_copy_waits_for_its_input() -> None:
    shape = constant("shape", [2], dtypes.int32)
    feeds = {Edge("x"): infer.Fed(dtypes.float32, (2,))}
    result, _ = simplified(
        placeholder("x"),
        shape,
        make("Neg", "n", "x"),
        copying("Reshape", "a", "n", "shape"),
        copying("Reshape", "b", "a", "shape"),
        copying("Reshape", "of_feed", "x", "shape"),
        make("Abs", "y", "x", control=("b", "of_feed")),
        feeds=feeds,
    )
    assert result["y"].control == ("n",)


@pytest.mark.parametrize(
    ("node", "keep"),
    [
        pytest.param(copying("Sum", "copy", "x", "axes", keep_dims=False), ("copy",), id="fetched"),
        pytest.param(
            copying("EuclideanNorm", "copy", "x", "axes", keep_dims=False), (), id="sizes"
        ),
        pytest.param(
            replace(
                copying("Sum", "copy", "source", "axes", keep_dims=False), device="/device:GPU:0"
            ),
            (),
            id="another device",
        ),
    ],
)
def test_another_node_than_a_copy_stays(node: ir.Node, keep: tuple[str, ...]) -> None:
    axes = constant("axes", [], dtypes.int32)
    nodes = [placeholder("x"), make("Tanh", "source", "x"), axes, node, make("Neg", "y", "copy")]
    feeds = {Edge("x"): infer.Fed(dtypes.float32, (3, 1))}
    result, _ = simplified(*nodes, feeds=feeds, keep=keep)
    assert result["y"].inputs == (Edge("copy"),)


def test_a_copy_of_the_memory_of_a_variable_remains() -> None:
    """The memory may change before the last reader of the copy runs."""
    attrs = {"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([2])}
    v, axes = ir.Node("v", "VariableV2", attrs=attrs), constant("axes", [], dtypes.int32)
    reads = make("Identity", "a", "v"), make("Identity", "b", "a")
    for source in ("v", "a", "b"):
        copy = copying("Sum", "copy", source, "axes", keep_dims=False)
        result, _ = simplified(v, axes, *reads, copy, make("Neg", "y", "copy"))
        assert result["y"].inputs == (Edge("copy"),)
