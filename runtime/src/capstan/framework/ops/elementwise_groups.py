"""The ops that may be in a group of elementwise nodes, and the row of a group.

A task makes the node of a group when it compiles a part (`executor.elementwise_groups`). No client
sends such nodes.
"""

import typing
from collections.abc import Mapping, Sequence

from capstan.core import dtypes, elementwise
from capstan.core import node as ir
from capstan.framework import opdef
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules


def _shapes(ctx: opdef.ShapeContext) -> rules.Shapes:
    return [*rules.broadcast(ctx)] * len(ctx.attrs["Tout"])


MEMBERS = frozenset(
    {
        "Abs", "Acos", "Acosh", "Add", "AddN", "AddV2", "Asin", "Asinh", "Atan", "Atan2", "Atanh",
        "BiasAdd", "Ceil", "Cos", "Cosh", "Elu", "EluGrad", "Exp", "Expm1", "Floor", "Inv",
        "InvGrad", "LeakyRelu", "LeakyReluGrad", "Log", "Log1p", "Maximum", "Minimum", "Mul", "Neg",
        "Pow", "RealDiv", "Reciprocal", "ReciprocalGrad", "Relu", "Relu6", "Relu6Grad", "ReluGrad",
        "Rint", "Rsqrt", "RsqrtGrad", "Selu", "SeluGrad", "Sigmoid", "SigmoidGrad", "Sign", "Sin",
        "Sinh", "Softplus", "SoftplusGrad", "Softsign", "SoftsignGrad", "Sqrt", "SqrtGrad",
        "Square", "SquaredDifference", "Sub", "Tan", "Tanh", "TanhGrad",
    }
)  # fmt: skip
"""The ops that may be in a group. A node whose kernel cannot be recorded stays as it is."""

TRUTHS = frozenset(
    {
        "Cast", "Equal", "Greater", "GreaterEqual", "IsFinite", "IsInf", "IsNan", "Less",
        "LessEqual", "NotEqual", "Select", "SelectV2",
    }
)  # fmt: skip
"""The ops that read or return truth values. They may be in a group of a CPU."""

define(
    OpDef(
        "_Elementwise",
        ("inputs: Tin",),
        ("outputs: Tout",),
        attrs={"Tin": list, "Tout": list},
        shape=_shapes,
    )
)


def number_type(node: ir.Node) -> dtypes.DType | None:
    """Return the type of the numbers that a node computes, or None if it cannot be in a group."""
    if node.op in MEMBERS or (node.op in TRUTHS and node.op != "Cast"):
        return typing.cast(dtypes.DType, node.attrs["T"])
    is_of_truths = node.op == "Cast" and node.attrs["SrcT"] is dtypes.bool_
    return node.attrs["DstT"] if is_of_truths else None


def node(
    first: ir.Node,
    inputs: Mapping[ir.Edge, dtypes.DType],
    results: Sequence[dtypes.DType],
    control: Sequence[str],
    program: elementwise.Program,
    alike: Sequence[int] = (),
) -> ir.Node:
    """Return the node that computes a group, with the name of its first result.

    `first` is the member that computes this result. `inputs` and `control` are the inputs of the
    group, and `results` the types of its results. In each step, the inputs with the numbers
    `alike` must have one shape. Otherwise the results may have several shapes.
    """
    attrs = {
        "T": number_type(first),
        "Tin": list(inputs.values()),
        "Tout": list(results),
        "program": program,
        "alike": tuple(alike),
    }
    return ir.Node(first.name, "_Elementwise", tuple(inputs), tuple(control), first.device, attrs)
