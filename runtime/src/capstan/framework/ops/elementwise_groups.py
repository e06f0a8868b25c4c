"""The ops that may be in a group of elementwise nodes, and the row of a group.

A task makes the node of a group when it compiles a part (`executor.elementwise_groups`). No client
sends such nodes.
"""

from collections.abc import Sequence

from capstan.core import elementwise
from capstan.core import node as ir
from capstan.framework import opdef
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules


def _shapes(ctx: opdef.ShapeContext) -> rules.Shapes:
    count: int = ctx.attrs["M"]
    return [*rules.broadcast(ctx)] * count


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

define(
    OpDef("_Elementwise", ("inputs: N * T",), ("outputs: M * T",), attrs={"M": int}, shape=_shapes)
)


def node(
    first: ir.Node,
    inputs: Sequence[ir.Edge],
    control: Sequence[str],
    program: elementwise.Program,
    alike: Sequence[int] = (),
) -> ir.Node:
    """Return the node that computes a group, with the name of its first result.

    `first` is the member that computes this result. `inputs` and `control` are the inputs of the
    group. In each step, the inputs with the numbers
    `alike` must have one shape. Otherwise the results may have several shapes.
    """
    attrs = {
        "T": first.attrs["T"],
        "N": len(inputs),
        "M": len(program.results),
        "program": program,
        "alike": tuple(alike),
    }
    return ir.Node(first.name, "_Elementwise", tuple(inputs), tuple(control), first.device, attrs)
