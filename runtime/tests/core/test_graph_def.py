"""The IR as GraphDef: a graph survives encoding and decoding, also with unknown ops."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import attr_value_pb2, graph_pb2

from capstan import errors
from capstan.core import attr_value, dtypes, function, graph_def, node, tensor_proto, tensor_shape

scalars: dict[str, st.SearchStrategy[Any]] = {
    "b": st.booleans(),
    "i": st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(width=32, allow_nan=False),
    "s": st.binary(max_size=9),
    "type": st.sampled_from([*dtypes.BASE_DTYPES, dtypes.float32.ref_dtype]),
    "shape": (st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3)).map(
        tensor_shape.TensorShape
    ),
    "tensor": st.lists(st.integers(-9, 9), max_size=3).map(lambda v: np.array(v, np.int32)),
    "func": st.builds(
        function.Reference,
        st.sampled_from(["body", "cond"]),
        st.dictionaries(st.sampled_from(["T", "N"]), st.integers(0, 9), max_size=2),
    ),
}
values = st.one_of(*scalars.values(), *(st.lists(kind, max_size=3) for kind in scalars.values()))
names = st.from_regex(r"[a-z][a-z0-9_/]{0,5}", fullmatch=True)
edges = st.builds(node.Edge, names, st.integers(0, 3))
nodes = st.builds(
    node.Node,
    names,
    st.sampled_from(["MatMul", "NoSuchOp"]),
    st.lists(edges, max_size=3).map(tuple),
    st.lists(names, max_size=2).map(tuple),
    st.sampled_from(["", "/job:ps/task:0"]),
    st.dictionaries(st.sampled_from(["T", "N", "_class", "value"]), values, max_size=3),
)


def _plain(value: Any) -> Any:
    """Return `value` with its arrays replaced by comparable tuples."""
    if isinstance(value, np.ndarray):
        return (value.dtype.name, value.tolist())
    return [_plain(element) for element in value] if isinstance(value, list) else value


@pytest.mark.e2e
@given(st.lists(nodes, max_size=4, unique_by=lambda each: each.name))
def test_a_graph_survives_encoding_and_decoding(graph: list[node.Node]) -> None:
    wire = graph_def.encode(graph).SerializeToString()
    decoded = graph_def.decode(graph_pb2.GraphDef.FromString(wire))
    assert len(decoded) == len(graph)
    for source, copy in zip(graph, decoded, strict=True):
        assert (copy.name, copy.op, copy.inputs, copy.control, copy.device) == (
            source.name, source.op, source.inputs, source.control, source.device,
        )  # fmt: skip
        assert {k: _plain(v) for k, v in copy.attrs.items()} == {
            k: _plain(v) for k, v in source.attrs.items()
        }


@given(values)
def test_an_attribute_keeps_its_kind(value: Any) -> None:
    decoded = attr_value.decode(attr_value.encode(value))
    assert _plain(decoded) == _plain(value)
    assert type(decoded) is type(value)


def test_inputs_are_written_as_in_tensorflow() -> None:
    source = node.Node("x", "Op", (node.Edge("a"), node.Edge("b", 1)), ("c",))
    assert list(graph_def.encode_node(source).input) == ["a", "b:1", "^c"]


def test_the_index_of_output_zero_is_optional() -> None:
    graph = graph_pb2.GraphDef()
    graph.node.add(name="x", op="Op", input=["a", "a:0", "^b"])
    (decoded,) = graph_def.decode(graph)
    assert decoded.inputs == (node.Edge("a"), node.Edge("a"))
    assert decoded.control == ("b",)


OPAQUE = [
    attr_value_pb2.AttrValue(placeholder="T"),
    attr_value_pb2.AttrValue(type=0),
    attr_value_pb2.AttrValue(type=24),
    attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(type=[1, 25])),
    attr_value_pb2.AttrValue(),
]


@pytest.mark.parametrize("proto", OPAQUE, ids=lambda proto: str(proto)[:20])
def test_an_unknown_attribute_value_is_kept(proto: Any) -> None:
    value = attr_value.decode(proto)
    assert isinstance(value, attr_value.Opaque)
    assert attr_value.encode(value) == proto


@pytest.mark.parametrize(
    "value, message",
    [
        (None, "no attribute can hold None, a NoneType"),
        ({}, "no attribute can hold {}, a dict"),
        ([1, "a"], "a list attribute holds values of one kind"),
    ],
)
def test_a_value_that_no_attribute_can_hold_is_refused(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        attr_value.encode(value)


def test_text_is_encoded_as_bytes() -> None:
    assert attr_value.encode("ab").s == b"ab"


@pytest.mark.parametrize("text", ["", "^", ":0", "a:", "a:x", "a:-1", "^:", "^a:0", "a:b:0"])
def test_a_malformed_input_name_is_refused(text: str) -> None:
    graph = graph_pb2.GraphDef()
    graph.node.add(name="x", op="Op", input=[text])
    with pytest.raises(errors.InvalidArgumentError, match="'x' has the input"):
        graph_def.decode(graph)


def test_two_nodes_of_one_name_are_refused() -> None:
    graph = graph_pb2.GraphDef()
    graph.node.add(name="x", op="Op")
    graph.node.add(name="x", op="Op")
    with pytest.raises(errors.InvalidArgumentError, match="Node 'x' is not unique"):
        graph_def.decode(graph)


def test_the_error_for_a_damaged_attribute_names_it() -> None:
    graph = graph_pb2.GraphDef()
    tensor = graph.node.add(name="x", op="Const").attr["value"].tensor
    tensor.dtype = 3
    tensor.tensor_content = b"123"
    with pytest.raises(errors.InvalidArgumentError, match="'x' has a damaged attribute 'value'"):
        graph_def.decode(graph)


def test_a_graph_that_no_message_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_proto, "MAX_BYTES", 1 << 20)

    def constants(value: np.ndarray[Any, Any]) -> list[node.Node]:
        return [node.Node(f"c{n}", "Const", attrs={"value": value}) for n in range(8)]

    varied = np.arange(1 << 14)
    with pytest.raises(ValueError, match="GraphDef cannot be larger than 2GB"):
        graph_def.encode(constants(varied))
    assert len(graph_def.encode(constants(varied)[:7]).node) == 7
    # Constants of equal elements are sent as one value each.
    assert len(graph_def.encode(constants(np.zeros(1 << 14))).node) == 8


def test_the_producer_is_tensorflow_1_4() -> None:
    assert graph_def.encode([]).versions.producer == 24
