"""The nodes that the passes of the compiler add to a graph. The passes themselves name no ops.

Every function returns a node on `device` that waits for the nodes in `control`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from capstan.core import dtypes, function, resource_name
from capstan.core import node as ir
from capstan.core.arrays import Array

Control = Sequence[str]


def constant(
    name: str, value: Array, dtype: dtypes.DType, device: str, control: Control = ()
) -> ir.Node:
    """Return a node whose output is `value`."""
    attrs = {"dtype": dtype, "value": value}
    return ir.Node(name, "Const", (), tuple(control), device, attrs)


def placeholder(name: str, dtype: dtypes.DType, device: str) -> ir.Node:
    """Return a node whose output is fed."""
    return ir.Node(name, "Placeholder", (), (), device, {"dtype": dtype})


def no_op(name: str, device: str, control: Control = ()) -> ir.Node:
    """Return a node that computes nothing. It waits for the nodes in `control`."""
    return ir.Node(name, "NoOp", (), tuple(control), device)


def identity(
    name: str, source: ir.Edge, dtype: dtypes.DType, device: str, control: Control = ()
) -> ir.Node:
    """Return a node whose output is the value of `source`."""
    return ir.Node(name, "Identity", (source,), tuple(control), device, {"T": dtype})


def ref_identity(
    name: str, source: ir.Edge, dtype: dtypes.DType, device: str, control: Control = ()
) -> ir.Node:
    """Return a node whose output is the reference `source`."""
    return ir.Node(name, "RefIdentity", (source,), tuple(control), device, {"T": dtype})


def identities(
    name: str,
    sources: Sequence[ir.Edge],
    types: Sequence[dtypes.DType],
    device: str,
    control: Control = (),
) -> ir.Node:
    """Return a node whose outputs are the values of `sources`. There must be at least one."""
    attrs = {"T": list(types)}
    return ir.Node(name, "IdentityN", tuple(sources), tuple(control), device, attrs)


def equal(name: str, x: ir.Edge, y: ir.Edge, dtype: dtypes.DType, device: str) -> ir.Node:
    """Return a node that compares two tensors element by element."""
    return ir.Node(name, "Equal", (x, y), (), device, {"T": dtype})


def less(name: str, x: ir.Edge, y: ir.Edge, dtype: dtypes.DType, device: str) -> ir.Node:
    """Return a node that tells where x is less than y."""
    return ir.Node(name, "Less", (x, y), (), device, {"T": dtype})


def both(name: str, x: ir.Edge, y: ir.Edge, device: str) -> ir.Node:
    """Return a node that tells whether two booleans are true."""
    return ir.Node(name, "LogicalAnd", (x, y), (), device)


def either(name: str, x: ir.Edge, y: ir.Edge, device: str) -> ir.Node:
    """Return a node that tells whether one of two booleans is true."""
    return ir.Node(name, "LogicalOr", (x, y), (), device)


def total(name: str, x: ir.Edge, y: ir.Edge, dtype: dtypes.DType, device: str) -> ir.Node:
    """Return a node that adds two tensors."""
    return ir.Node(name, "AddV2", (x, y), (), device, {"T": dtype})


def to_bool(name: str, source: ir.Edge, dtype: dtypes.DType, device: str) -> ir.Node:
    """Return a node whose output says whether the value of `source` counts as true."""
    return ir.Node(name, "ToBool", (source,), (), device, {"T": dtype})


def switch(
    name: str, data: ir.Edge, predicate: ir.Edge, dtype: dtypes.DType, device: str
) -> ir.Node:
    """Return a node that passes `data` to output 1 if `predicate` is true, or else to output 0."""
    return ir.Node(name, "Switch", (data, predicate), (), device, {"T": dtype})


def merge(name: str, sides: Sequence[ir.Edge], dtype: dtypes.DType, device: str) -> ir.Node:
    """Return a node whose output 0 is the first of `sides` that arrives."""
    return ir.Node(name, "Merge", tuple(sides), (), device, {"T": dtype, "N": len(sides)})


def select(
    name: str,
    predicate: ir.Edge,
    if_true: ir.Edge,
    if_false: ir.Edge,
    dtype: dtypes.DType,
    device: str,
) -> ir.Node:
    """Return a node whose output is one of two tensors of one shape."""
    return ir.Node(name, "Select", (predicate, if_true, if_false), (), device, {"T": dtype})


def stage(
    name: str,
    key: ir.Edge,
    indices: ir.Edge,
    values: Sequence[ir.Edge],
    types: Sequence[dtypes.DType],
    area: resource_name.ResourceName,
    device: str,
) -> ir.Node:
    """Return a node that adds `values` to a staging area under `key`. `indices` counts them."""
    attrs = {"dtypes": list(types), "fake_dtypes": list(types), **_staging(area)}
    return ir.Node(name, "MapStage", (key, indices, *values), (), device, attrs)


def unstage(
    name: str,
    key: ir.Edge,
    indices: ir.Edge,
    types: Sequence[dtypes.DType],
    area: resource_name.ResourceName,
    device: str,
) -> ir.Node:
    """Return a node that waits for the values under `key` in a staging area, as for `stage`."""
    attrs = {"dtypes": list(types), **_staging(area)}
    return ir.Node(name, "MapUnstage", (key, indices), (), device, attrs)


def _staging(area: resource_name.ResourceName) -> dict[str, Any]:
    return {
        "capacity": 0,
        "memory_limit": 0,
        "container": area.container.encode(),
        "shared_name": area.name.encode(),
    }


def while_loop(
    name: str,
    inputs: Sequence[ir.Edge],
    types: Sequence[dtypes.DType],
    condition: str,
    body: str,
    device: str,
    control: Control = (),
    *,
    is_stateful: bool,
) -> ir.Node:
    """Return a node that calls the function `body` while the function `condition` returns true."""
    attrs = {
        "T": list(types),
        "cond": function.Reference(condition),
        "body": function.Reference(body),
    }
    op = "While" if is_stateful else "StatelessWhile"
    return ir.Node(name, op, tuple(inputs), tuple(control), device, attrs)


def call(node: ir.Node, callee: function.Function) -> ir.Node:
    """Return the call in place of `node`, whose op is the name of the function `callee`.

    The call keeps the attributes of `node` whose names start with an underscore. The other
    attributes of `node` are attributes of the function.
    """
    private = {name: value for name, value in node.attrs.items() if name.startswith("_")}
    arguments = {name: value for name, value in node.attrs.items() if name not in private}
    return replace(
        node,
        op="StatefulPartitionedCall" if callee.is_stateful else "PartitionedCall",
        attrs={
            **private,
            "Tin": [argument.dtype for argument in callee.arguments],
            "Tout": list(callee.result_dtypes),
            "f": function.Reference(node.op, arguments),
        },
    )


def iterations(
    loop: ir.Node, inputs: Sequence[ir.Edge], types: Sequence[dtypes.DType], cond: str, body: str
) -> ir.Node:
    """Return the node in place of `loop`, a loop whose iterations are steps of their own.

    `inputs` are the inputs that the functions of the loop read, and `types` their types. `cond` and
    `body` are the handles of the programs that run the functions.
    """
    attrs = {
        "Tin": list(types),
        "T": loop.attrs["T"],
        "cond": cond.encode(),
        "body": body.encode(),
        "output_shapes": loop.attrs["output_shapes"],
    }
    return replace(loop, op="_While", inputs=tuple(inputs), attrs=attrs)
