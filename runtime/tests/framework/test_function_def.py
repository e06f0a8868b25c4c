"""Functions as FunctionDefs: they survive encoding and decoding, and malformed ones are refused."""

from typing import Any

import pytest
from tensorboard.compat.proto import function_pb2

from capstan import errors
from capstan.core import dtypes, function, node
from capstan.framework import function_def

T = {"T": dtypes.float32}
HALVES = function.Function(
    "halves",
    (function.Argument("axis", dtypes.int32), function.Argument("x", dtypes.float32, (None, 2))),
    (node.Edge("split", 1), node.Edge("unique", 1), node.Edge("x")),
    {
        "split": node.Node(
            "split",
            "Split",
            (node.Edge("axis"), node.Edge("x")),
            attrs={**T, "num_split": 2},
        ),
        "unique": node.Node(
            "unique", "Switch", (node.Edge("split", 0), node.Edge("yes")), ("split",), attrs=T
        ),
        "yes": node.Node("yes", "NoSuchOp", (), (), "/cpu:0"),
    },
    control_results=("yes",),
    result_names=("second", "kept", "whole"),
    is_stateful=True,
    attrs={"_noinline": True},
    gradient="halves_grad",
    result_dtypes=(dtypes.float32, dtypes.float32, dtypes.float32),
)
CALLER = function.Function(
    "caller",
    (function.Argument("x", dtypes.float32),),
    (node.Edge("call", 2),),
    {
        "zero": node.Node("zero", "NoSuchOp"),
        "call": node.Node("call", "halves", (node.Edge("zero"), node.Edge("x"))),
        "apply": node.Node(
            "apply",
            "PartitionedCall",
            (node.Edge("call", 1),),
            attrs={"f": function.Reference("halves", {"N": 2}), "Tout": [dtypes.float32]},
        ),
    },
    result_names=("out",),
    result_dtypes=(dtypes.float32,),
)


def test_functions_survive_encoding_and_decoding() -> None:
    library = {"caller": CALLER, "halves": HALVES}
    wire = function_def.encode(library).SerializeToString()
    assert function_def.decode(function_pb2.FunctionDefLibrary.FromString(wire)) == library


def test_tensors_of_a_function_are_named_as_in_tensorflow() -> None:
    message = function_def.encode_function(HALVES, {"halves": HALVES})
    inputs = {encoded.name: list(encoded.input) for encoded in message.node_def}
    assert inputs["split"] == ["axis", "x"]
    assert inputs["unique"] == ["split:output:0", "yes:output:0", "^split"]
    assert dict(message.ret) == {
        "second": "split:output:1",
        "kept": "unique:output_true:0",
        "whole": "x",
    }
    (call,) = (
        encoded
        for encoded in function_def.encode_function(CALLER, {"halves": HALVES}).node_def
        if encoded.name == "apply"
    )
    assert list(call.input) == ["call:kept:0"]


def test_the_results_of_a_body_without_signature_get_names_and_types() -> None:
    body = function.Function("body", HALVES.arguments, HALVES.results, HALVES.nodes)
    message = function_def.encode_function(body, {"body": body})
    assert [(result.name, result.type) for result in message.signature.output_arg] == [
        ("result_0", 1),
        ("result_1", 1),
        ("result_2", 1),
    ]


def damaged(change: Any) -> Any:
    library = function_def.encode({"halves": HALVES})
    change(library)
    return library


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda lib: lib.function.append(lib.function[0]), "Function 'halves' is defined twice"),
        (
            lambda lib: lib.function[0].ret.pop("kept"),
            "Function 'halves' has no value for its result 'kept'",
        ),
        (
            lambda lib: lib.function[0].node_def[0].input.append("nobody:output:0"),
            "node 'split' has the input 'nobody:output:0', which is neither",
        ),
        (
            lambda lib: lib.function[0].node_def[0].input.append("unique:output_true:x"),
            "node 'split' has the input 'unique:output_true:x', which is neither",
        ),
        (
            lambda lib: lib.function[0].ret.update(kept="unique:nothing:0"),
            r"node 'unique' \(Switch\) has no output 'nothing'",
        ),
        (
            lambda lib: lib.function[0].node_def.add(name="x", op="NoOp"),
            "Function 'halves' has two nodes or arguments of one name",
        ),
        (
            lambda lib: lib.function[0].signature.input_arg.add(name="t", type_attr="T"),
            "The type of 't' of function 'halves' is an attribute of the call",
        ),
        (
            lambda lib: lib.function[0].signature.input_arg.add(name="q", type=24),
            "Capstan does not have the type 24 of 'q' of function 'halves'",
        ),
    ],
)
def test_a_malformed_function_is_refused(change: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        function_def.decode(damaged(change))
