"""`tf.cond` and `tf.switch_case` as one operation that calls a function (python/ops/cond_v2.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import control_flow_bodies
from capstan.framework import body_graph, branch_call, convert, facts, nest
from capstan.framework import graph as graphs

_Function = Callable[[], Any]


def cond(pred: Any, true_fn: _Function, false_fn: _Function, name: str | None) -> Any:
    """Return the outputs of an `If`, in the structure of the result of `true_fn`.

    Raises:
        TypeError: `pred` is a Python bool, or the functions return different types or structures.
    """
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool", pred)
    graph = graphs.get_default_graph()
    with graph.name_scope(name or "cond") as scope:
        chosen = control_flow_bodies.scalar(pred)
        return _built(facts.Role.IF, chosen, {"true": true_fn, "false": false_fn}, scope)


def switch_case(branch_index: graphs.Tensor, functions: Sequence[_Function]) -> Any:
    """Return the outputs of a `Case`, in the structure of the result of the first function.

    Raises:
        TypeError: the functions return different types or structures.
    """
    graph = graphs.get_default_graph()
    with graph.name_scope("indexed_case") as scope:
        chosen = convert.convert_to_tensor(branch_index, name="branch_index")
        named = {f"branch{place}": function for place, function in enumerate(functions)}
        return _built(facts.Role.CASE, chosen, named, scope)


def _built(
    role: facts.Role, chosen: graphs.Tensor, functions: dict[str, _Function], scope: str
) -> Any:
    bodies = [body_graph.BodyGraph() for _ in functions]
    structures = [
        control_flow_bodies.traced(body, function, chosen)
        for body, function in zip(bodies, functions.values(), strict=True)
    ]
    _check_same(role, bodies, structures)
    if not bodies[0].outputs:
        raise ValueError(f"The functions of {_call(role)} must return at least one result.")
    graph = graphs.get_default_graph()
    base = scope.replace("/", "_")
    with graph.control_dependencies([op for body in bodies for op in body.awaited]):
        outputs = branch_call.built(
            role, chosen, bodies, [f"{base}{name}" for name in functions], scope
        )
    return control_flow_bodies.results(structures[0], outputs)


def _check_same(
    role: facts.Role, bodies: Sequence[body_graph.BodyGraph], structures: Sequence[Any]
) -> None:
    """Check that all functions return the same types in the same structure."""
    is_cond = role is facts.Role.IF
    for place in range(1, len(bodies)):
        fault = _difference(bodies[0], bodies[place], structures[0], structures[place])
        if fault:
            first, other = "branches[0]", f"branches[{place}]"
            if is_cond:
                first, other = "true_fn", "false_fn"
            raise TypeError(
                f"{first} and {other} arguments to {_call(role)} must have the same number, type, "
                f"and overall structure of return values.\n\n{first} output: {structures[0]}\n"
                f"{other} output: {structures[place]}\n\nError details:\n{fault}"
            )


def _difference(
    first: body_graph.BodyGraph, other: body_graph.BodyGraph, structure: Any, expected: Any
) -> str | None:
    try:
        nest.check_same(structure, expected, composites=True)
    except (TypeError, ValueError) as fault:
        return str(fault)
    if len(first.outputs) != len(other.outputs):
        return f"{structure} and {expected} have None in different places"
    for one, two in zip(first.outputs, other.outputs, strict=True):
        if one.dtype.base_dtype is not two.dtype.base_dtype:
            return f"{one} and {two} have different types"
    return None


def _call(role: facts.Role) -> str:
    return "tf.cond" if role is facts.Role.IF else "tf.switch_case"
