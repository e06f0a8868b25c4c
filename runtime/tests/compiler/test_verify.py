"""The graph of a client is checked before later passes rely on it."""

from typing import Any

import numpy as np
import pytest

import capstan.framework.ops  # noqa: F401 - fills the table of ops
from capstan import errors
from capstan.core import dtypes, tensor_shape
from capstan.core.node import Edge, Node
from capstan.graph import infer, verify

F32 = {"T": dtypes.float32}
X = Edge("x")


def const(name: str, dtype: dtypes.DType = dtypes.float32, **attrs: Any) -> Node:
    value = np.zeros(2, dtype.as_numpy_dtype)
    return Node(name, "Const", attrs={"dtype": dtype, "value": value, **attrs})


def check(*nodes: Node, **fed: dtypes.DType) -> None:
    feeds = {Edge(name): infer.Fed(dtype, None) for name, dtype in fed.items()}
    verify.verify({node.name: node for node in nodes}, feeds)


VARIABLE = Node(
    "v", "VariableV2", attrs={"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([2])}
)


def test_a_correct_graph_passes() -> None:
    check(
        const("x"),
        VARIABLE,
        Node("set", "Assign", (Edge("v"), X), ("x",), attrs=F32),
        Node("sum", "Add", (Edge("set"), Edge("fed")), attrs=F32),
        fed=dtypes.float32,
    )


@pytest.mark.parametrize(
    "nodes, words",
    [
        (
            [Node("n", "Neg", (Edge("gone"),), attrs=F32)],
            "Node 'n': Unknown input node 'gone'",
        ),
        ([const("x"), Node("n", "NoOp", control=("gone",))], "Unknown input node 'gone'"),
        (
            [const("x"), Node("n", "Neg", (Edge("x", 3),), attrs=F32)],
            "Connecting to invalid output 3 of source node x which has 1 outputs",
        ),
        (
            [const("x", dtypes.int32), Node("n", "Neg", (X,), attrs=F32)],
            "Input 0 of node n was passed int32 from x:0 incompatible with expected float32",
        ),
        (
            [const("x"), Node("n", "Assign", (X, X), attrs=F32)],
            "Input 0 of node n was passed float32 from x:0 incompatible with expected float32_ref",
        ),
        (
            [Node("n", "Neg", (Edge("fed"),), attrs=F32)],
            "Input 0 of node n was passed string from fed:0 incompatible with expected float32",
        ),
        ([const("x"), Node("n", "Neg", (X, X), attrs=F32)], "'n' has 2 inputs, but Op<name=Neg>"),
    ],
)
def test_the_error_names_the_node_whose_inputs_do_not_fit(nodes: list[Node], words: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=words) as caught:
        check(*nodes, fed=dtypes.string)
    assert "'n'" in str(caught.value) or "{{node n}}" in str(caught.value)


@pytest.mark.parametrize(
    "node, words",
    [
        (Node("n", "Const", attrs={"dtype": dtypes.float32}), "attr 'value' is missing"),
        (const("n", value=7), "attr 'value' is 7"),
        (Node("n", "Neg", (X,), attrs={"T": 1}), "attr 'T' is 1"),
        (Node("n", "Neg", (X,)), "'T'"),
        (Node("n", "Neg", (X,), attrs={"T": dtypes.string}), "not in list of allowed values"),
        (Node("n", "AddN", (X,), attrs={**F32, "N": 2**60}), "attr 'N' is 1152921504606846976"),
        (Node("n", "AddN", (X,), attrs={**F32, "N": -1}), "attr 'N' is -1"),
        (Node("n", "AddN", (X,), attrs={**F32, "N": b"2"}), "attr 'N' is b'2'"),
        (Node("n", "MatMul", (X, X), attrs={**F32, "transpose_a": 1}), "attr 'transpose_a' is 1"),
        (Node("n", "Squeeze", (X,), attrs={**F32, "squeeze_dims": 1}), "attr 'squeeze_dims' is 1"),
        (
            Node("n", "VariableV2", attrs={"dtype": dtypes.float32, "shape": [2]}),
            r"attr 'shape' is \[2\]",
        ),
    ],
)
def test_the_error_names_the_attribute_with_the_wrong_value(node: Node, words: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=f"NodeDef of 'n' .*{words}"):
        check(const("x"), node)


def test_an_unknown_op_is_a_not_found_error() -> None:
    with pytest.raises(errors.NotFoundError, match="Op type not registered 'Unheard'"):
        check(Node("n", "Unheard"))
