"""A node whose op is the name of a function becomes a PartitionedCall of that function."""

import dataclasses

import pytest

from capstan import errors
from capstan.core import dtypes, function, node
from capstan.graph import calls

INNER = function.Function(
    "inner",
    (function.Argument("x", dtypes.float32),),
    (node.Edge("x"),),
    {},
    result_names=("y",),
    is_stateful=True,
    result_dtypes=(dtypes.float32,),
)
OUTER = function.Function(
    "outer",
    (function.Argument("x", dtypes.float32), function.Argument("n", dtypes.int32)),
    (node.Edge("call"), node.Edge("n")),
    {"call": node.Node("call", "inner", (node.Edge("x"),))},
    result_names=("y", "n"),
    result_dtypes=(dtypes.float32, dtypes.int32),
)


def test_a_call_by_name_holds_the_function_and_the_types_of_its_signature() -> None:
    attrs = {"_class": [b"loc:@a"], "limit": 3}
    inputs = (node.Edge("a"), node.Edge("b", 1))
    call = node.Node("c", "outer", inputs, ("d",), "/cpu:0", attrs)
    explicit = calls.explicit(call, {"outer": OUTER})
    assert explicit == node.Node(
        "c",
        "PartitionedCall",
        inputs,
        ("d",),
        "/cpu:0",
        {
            "_class": [b"loc:@a"],
            "Tin": [dtypes.float32, dtypes.int32],
            "Tout": [dtypes.float32, dtypes.int32],
            "f": function.Reference("outer", {"limit": 3}),
        },
    )


def test_a_call_inside_of_a_function_is_rewritten_too() -> None:
    for known, added in (({}, [OUTER, INNER]), (calls.merged({}, [INNER]), [OUTER])):
        library = calls.merged(known, added)
        assert library["outer"].nodes["call"].op == "StatefulPartitionedCall"


def test_other_nodes_stay_as_they_are() -> None:
    plain = node.Node("x", "NoOp")
    assert calls.explicit(plain, {"outer": OUTER}) is plain


def test_a_function_may_be_sent_again_but_not_with_another_body() -> None:
    library = calls.merged({}, [OUTER, INNER])
    assert calls.merged(library, [OUTER, INNER]) == library
    changed = dataclasses.replace(OUTER, results=(node.Edge("x"), node.Edge("n")))
    with pytest.raises(errors.InvalidArgumentError, match="Cannot add function 'outer' because"):
        calls.merged(library, [changed])
