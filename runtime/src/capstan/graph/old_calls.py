"""Calls of functions that become other calls: `For` becomes a `While`, and `RemoteCall` a call on
its device (core/kernels/functional_ops.cc, function_ops.cc).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build

_RANGE = ("index", "limit", "delta")


def loop(node: ir.Node, library: function.Library) -> tuple[list[ir.Node], function.Library]:
    """Return a loop and its results in place of `node`, and the library with its two functions.

    The loop has three more results than `node`. A node with the name of `node` gives the others.

    Raises:
        InvalidArgumentError: the function is not in the library, or does not fit.
    """
    name = node.attrs["body"].name
    body = library.get(name)
    types = list(node.attrs["T"])
    if body is None:
        raise refused(node, f"its function '{name}' is not in the library of the graph")
    if [each.dtype for each in body.arguments] != [dtypes.int32, *types]:
        raise refused(node, f"'{name}' must take an int32 and what the node takes")
    if len(body.results) != len(types):
        raise refused(node, f"'{name}' must return {len(types)} tensor(s)")
    arguments = (
        *(function.Argument(each, dtypes.int32, ()) for each in _RANGE),
        *(function.Argument(f"value_{at}", dtype) for at, dtype in enumerate(types)),
    )
    made = (_condition(f"{name}__for_cond", arguments), _step(f"{name}__for_body", body, arguments))
    repeated = build.while_loop(
        f"{node.name}/_while",
        node.inputs,
        [argument.dtype for argument in arguments],
        made[0].name,
        made[1].name,
        node.device,
        node.control,
        is_stateful=body.is_stateful,
    )
    results = [ir.Edge(repeated.name, len(_RANGE) + at) for at in range(len(types))]
    last = (
        build.identities(node.name, results, types, node.device)
        if types
        else build.no_op(node.name, node.device, (repeated.name,))
    )
    return [repeated, last], {**library, **{each.name: each for each in made}}


def _condition(name: str, arguments: tuple[function.Argument, ...]) -> function.Function:
    """Return the function that tells whether the index has not reached the limit."""
    index, limit, delta = (each.edge for each in arguments[:3])
    zero, integer = ir.Edge("zero"), dtypes.int32
    parts = (
        build.constant("zero", np.array(0, np.int32), integer, ""),
        build.less("rises", zero, delta, integer, ""),
        build.less("falls", delta, zero, integer, ""),
        build.less("below", index, limit, integer, ""),
        build.less("above", limit, index, integer, ""),
        build.both("up", ir.Edge("rises"), ir.Edge("below"), ""),
        build.both("down", ir.Edge("falls"), ir.Edge("above"), ""),
        build.either("goes_on", ir.Edge("up"), ir.Edge("down"), ""),
    )
    nodes = {part.name: part for part in parts}
    return function.Function(name, arguments, (ir.Edge("goes_on"),), nodes)


def _step(
    name: str, body: function.Function, arguments: tuple[function.Argument, ...]
) -> function.Function:
    """Return the function that calls `body` and goes to the next index."""
    index, limit, delta, *values = (each.edge for each in arguments)
    call = build.call(ir.Node("call", body.name, (index, *values)), body)
    following = build.total("next", index, delta, dtypes.int32, "")
    results = (
        ir.Edge("next"), limit, delta, *(ir.Edge("call", at) for at in range(len(values))),
    )  # fmt: skip
    return function.Function(
        name,
        arguments,
        results,
        {each.name: each for each in (call, following)},
        control_results=("call",) if body.is_stateful else (),
        is_stateful=body.is_stateful,
    )


def remote(node: ir.Node, nodes: Mapping[str, ir.Node]) -> ir.Node:
    """Return a call, by the name of the function, on the device that input 0 names.

    In a function that gets the device as an argument, it is a call on the device of the caller.
    The functions of datasets are such: they run on the task of the dataset.

    Raises:
        InvalidArgumentError: the device is computed in the graph.
    """
    source: Any = nodes.get(node.inputs[0].node) if node.inputs else None
    while source is not None and opdef.role(source.op) is facts.Role.IDENTITY:
        source = nodes.get(source.inputs[0].node)
    target = node.device
    if source is not None:
        if opdef.role(source.op) is not facts.Role.CONSTANT:
            raise refused(node, "its target must be a constant, so that the function can be placed")
        target = np.asarray(source.attrs["value"], object).reshape(-1)[0].decode(errors="replace")
    private = {key: value for key, value in node.attrs.items() if key.startswith("_")}
    return replace(
        node, op=node.attrs["f"].name, inputs=node.inputs[1:], device=target, attrs=private
    )


def refused(node: ir.Node, reason: str) -> errors.InvalidArgumentError:
    """Return the error for a node that cannot be replaced."""
    return errors.InvalidArgumentError(
        None, None, f"Node '{node.name}' ({node.op}): {reason}\n\t [[{{{{node {node.name}}}}}]]"
    )
