"""A node whose op is the name of a function becomes a PartitionedCall of that function."""

import dataclasses
import functools

import pytest

from capstan import errors
from capstan.core import dtypes, function, node
from capstan.framework import function_gradient, gradients
from capstan.graph import calls


def symbolic(source: function.Function, library: function.Library) -> list[function.Function]:
    return function_gradient.symbolic(source, library, gradients.gradients)


merged = functools.partial(calls.merged, symbolic=symbolic)
explicit = functools.partial(calls.explicit, symbolic=symbolic)

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
    (replaced,), _ = explicit([call], {"outer": OUTER})
    assert replaced == node.Node(
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
    for known, added in (({}, [OUTER, INNER]), (merged({}, [INNER]), [OUTER])):
        library = merged(known, added)
        assert library["outer"].nodes["call"].op == "StatefulPartitionedCall"


def test_other_nodes_stay_as_they_are() -> None:
    plain = node.Node("x", "NoOp")
    (kept,), library = explicit([plain], {"outer": OUTER})
    assert kept is plain
    assert library == {"outer": OUTER}


SQUARE = function.Function(
    "square",
    (function.Argument("x", dtypes.float32),),
    (node.Edge("y"),),
    {"y": node.Node("y", "Mul", (node.Edge("x"), node.Edge("x")), attrs={"T": dtypes.float32})},
    result_names=("y",),
    result_dtypes=(dtypes.float32,),
)


def gradient_of(name: str) -> node.Node:
    attrs = {
        "Tin": [dtypes.float32, dtypes.float32],
        "Tout": [dtypes.float32],
        "f": function.Reference(name),
    }
    return node.Node("g", "SymbolicGradient", (node.Edge("a"), node.Edge("b")), attrs=attrs)


def test_a_symbolic_gradient_calls_a_gradient_that_is_made_once() -> None:
    (first, second), library = explicit(
        [gradient_of("square"), gradient_of("square")], {"square": SQUARE}
    )
    assert first == second
    assert first.op == "PartitionedCall"
    assert first.inputs == (node.Edge("a"), node.Edge("b"))
    made = library[first.attrs["f"].name]
    assert [argument.dtype for argument in made.arguments] == [dtypes.float32] * 2
    assert {each.op for each in made.nodes.values()} >= {"Mul", "AddN"}


def test_the_gradient_function_of_a_definition_is_called() -> None:
    named = dataclasses.replace(SQUARE, gradient="mine")
    mine = dataclasses.replace(SQUARE, name="mine")
    (call,), _ = explicit([gradient_of("square")], {"square": named, "mine": mine})
    assert call.attrs["f"] == function.Reference("mine")


@pytest.mark.parametrize(
    "name, message",
    [
        ("nobody", "its function 'nobody' is not in the library"),
        ("loop", "the gradient of 'loop' cannot be built: Function 'loop' contains a loop of"),
    ],
)
def test_a_gradient_that_cannot_be_built_is_refused(name: str, message: str) -> None:
    body = {
        "y": node.Node("y", "Neg", (node.Edge("z"),), attrs={"T": dtypes.float32}),
        "z": node.Node("z", "Neg", (node.Edge("y"),), attrs={"T": dtypes.float32}),
    }
    loop = dataclasses.replace(SQUARE, name="loop", nodes=body)
    with pytest.raises(errors.InvalidArgumentError, match=message):
        explicit([gradient_of(name)], {"loop": loop})


def test_a_function_may_be_sent_again_but_not_with_another_body() -> None:
    library = merged({}, [OUTER, INNER])
    assert merged(library, [OUTER, INNER]) == library
    changed = dataclasses.replace(OUTER, results=(node.Edge("x"), node.Edge("n")))
    with pytest.raises(errors.InvalidArgumentError, match="Cannot add function 'outer' because"):
        merged(library, [changed])
