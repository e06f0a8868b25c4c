"""The ops of chains of elementwise nodes, and the row of a chain.

A task makes the node of a chain when it compiles a part (`executor.chains`). No client sends such
nodes.
"""

from collections.abc import Sequence

from capstan.core import dtypes, elementwise
from capstan.core import node as ir
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

LINKS = frozenset(
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
"""The ops that may be in a chain. A node whose kernel cannot be recorded stays as it is."""

define(OpDef("_Elementwise", ("inputs: N * T",), ("output: T",), shape=rules.broadcast))


def joined(
    last: ir.Node,
    inputs: Sequence[ir.Edge],
    control: Sequence[str],
    program: elementwise.Program,
) -> ir.Node:
    """Return the node that computes a chain of links in place of the `last` link.

    `inputs` and `control` are the inputs of the chain.
    """
    dtype: dtypes.DType = last.attrs["T"]
    attrs = {"T": dtype, "N": len(inputs), "program": program}
    return ir.Node(last.name, "_Elementwise", tuple(inputs), tuple(control), last.device, attrs)
