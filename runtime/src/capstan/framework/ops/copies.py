"""Rows of the copies between host memory and the memories of devices.

The compiler adds a copy to each edge that needs one (`partition.copies`). No client sends copies.
"""

from collections.abc import Sequence

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

define(
    OpDef(
        "_CopyToHost",
        ("input: T",),
        ("output: T",),
        shape=rules.unchanged,
        role=facts.Role.DEPARTURE,
        effect=facts.BLOCKS,
        host=("output",),
    )
)
define(
    OpDef(
        "_CopyToDevice",
        ("input: T",),
        ("output: T",),
        shape=rules.unchanged,
        role=facts.Role.ARRIVAL,
        host=("input",),
    )
)
define(
    OpDef(
        "_CopyAcross",
        ("input: T",),
        ("output: T",),
        attrs={"source": bytes},
        shape=rules.unchanged,
        effect=facts.BLOCKS,
    )
)


def to_host(name: str, edge: ir.Edge, dtype: dtypes.DType, device: str) -> ir.Node:
    """Return a node that copies `edge` from the memory of `device` to host memory."""
    return ir.Node(name, "_CopyToHost", (edge,), (), device, {"T": dtype})


def to_device(name: str, edge: ir.Edge, dtype: dtypes.DType, device: str) -> ir.Node:
    """Return a node that copies `edge` from host memory to the memory of `device`."""
    return ir.Node(name, "_CopyToDevice", (edge,), (), device, {"T": dtype})


def across(name: str, edge: ir.Edge, dtype: dtypes.DType, device: str, source: str) -> ir.Node:
    """Return a node that copies `edge` from the memory of `source` to the memory of `device`.

    Both are devices of one task.
    """
    attrs = {"T": dtype, "source": source.encode()}
    return ir.Node(name, "_CopyAcross", (edge,), (), device, attrs)


def constant(name: str, source: ir.Node, device: str, control: Sequence[str]) -> ir.Node:
    """Return a constant like `source` that lies in the memory of `device`."""
    return ir.Node(name, source.op, (), tuple(control), device, source.attrs)
