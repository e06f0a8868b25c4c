"""Operations on each number, such as sums, comparisons and special functions."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.core import dtypes, elementwise, tensor_shape
from capstan.framework import opdef
from capstan.framework.ops.unary import CASTABLE
from op_cases.drawing import (
    Case,
    Draw,
    Numbers,
    Strategy,
    numbers,
    several,
    small_shapes,
    unary,
)


@st.composite
def positive(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand above 0."""
    return Case([np.asarray(np.abs(draw(numbers(row, dtype)).array(draw(small_shapes))))])


@st.composite
def binary(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two operands that broadcast. They are bool if the op takes only bool."""
    if row.inputs[0].endswith("bool"):
        dtype = dtypes.bool_
    give = draw(numbers(row, dtype))
    pair = draw(
        arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3)
    )
    return Case([give.array(shape) for shape in pair.input_shapes])


@st.composite
def modulo(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw operands that are not multiples of each other. At a multiple the remainder jumps."""
    x, y = draw(binary(row, dtype)).inputs
    return Case([np.asarray(x + x.dtype.type(0.0137)) if elementwise.is_number(x.dtype) else x, y])


@st.composite
def times_logarithm(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    x, y = draw(binary(row, dtype)).inputs
    return Case([x, np.asarray(np.abs(y) + y.dtype.type(0.125))])


@st.composite
def power(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    case = draw(binary(row, dtype))
    base, exponent = case.inputs
    if elementwise.is_number(base.dtype):
        return Case([np.asarray(np.abs(base) / 4), np.asarray(exponent / 4)])
    return Case([np.asarray(base % 3), np.asarray(exponent % 4)])


@st.composite
def shifted(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw numbers of either sign, and distances that are less than 0, or more than all bits."""
    x, y = draw(binary(row, dtype)).inputs
    return Case([np.asarray(np.where(x % 3, x, ~x)), np.asarray(y % 80 - (y.dtype.kind == "i"))])


@st.composite
def signed(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand with numbers of either sign."""
    (x,) = draw(unary(row, dtype)).inputs
    return Case([np.asarray(np.where(x % 2, x, ~x))])


@st.composite
def alike(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two operands of one shape."""
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    return Case([give.array(shape), give.array(shape)])


@st.composite
def accumulated(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    parts = [give.array(shape) for _ in range(draw(st.integers(1, 3)))]
    return Case([parts], {"shape": tensor_shape.TensorShape(shape)})


@st.composite
def clipped(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a tensor and two bounds, both scalars or of the shape of the tensor."""
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    sizes = draw(st.sampled_from([(), shape]))
    value, one, other = give.array(shape), give.array(sizes), give.array(sizes)
    return Case([value, np.asarray(np.minimum(one, other)), np.asarray(np.maximum(one, other))])


@st.composite
def vectors(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two stacks of vectors with three elements."""
    give = draw(numbers(row, dtype))
    shape = (*draw(arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)), 3)
    return Case([give.array(shape), give.array(shape)])


@st.composite
def select(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    choices = [shape, ()] + ([shape[:1]] if shape else [])
    condition = Numbers(draw(st.integers(0, 99)), bool).array(draw(st.sampled_from(choices)))
    return Case([condition, give.array(shape), give.array(shape)])


@st.composite
def select_v2(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    trio = draw(
        arrays.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3)
    )
    first, second, third = trio.input_shapes
    condition = Numbers(draw(st.integers(0, 99)), bool).array(first)
    return Case([condition, give.array(second), give.array(third)])


@st.composite
def cast(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    castable = sorted((each for each in CASTABLE if not each.is_complex), key=str)
    source = draw(numbers(row, dtype or draw(st.sampled_from(castable))))
    choices = (dtypes.float64,) if dtype else castable
    return Case([source.array(draw(small_shapes))], {"DstT": draw(st.sampled_from(choices))})


@st.composite
def between(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand between -1 and 1, or above 1 for Acosh."""
    value = np.asarray(draw(numbers(row, dtype)).array(draw(small_shapes)) / 10.5)
    return Case([np.asarray(np.abs(value) + 1.25 if row.name == "Acosh" else value)])


@st.composite
def probabilities(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand between 0 and 1."""
    value = np.asarray(draw(numbers(row, dtype)).array(draw(small_shapes)) / 21)
    return Case([np.asarray(value + value.dtype.type(0.5))])


@st.composite
def off_integers(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand that is no integer, because Digamma and Lgamma have poles there."""
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    return Case([np.asarray(np.abs(value) + value.dtype.type(0.3))])


@st.composite
def orders(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a small integer above 1, and numbers that are no integers, of either sign."""
    give = draw(numbers(row, dtype))
    pair = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=2))
    first, second = (give.array(shape) for shape in pair.input_shapes)
    first = np.asarray(np.abs(np.rint(first)) % 4 + 2).astype(first.dtype)
    second = np.asarray(np.rint(second) % 9 - 3.7).astype(second.dtype)
    return Case([first, second], structural=frozenset({0}))


@st.composite
def gamma_operands(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw positive numbers below 6, of shapes that broadcast."""
    give = draw(numbers(row, dtype))
    pair = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=2))
    drawn = (np.asarray(give.random.uniform(0.4, 6, shape)) for shape in pair.input_shapes)
    return Case([each.astype(give.dtype) for each in drawn])


@st.composite
def beta_operands(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two positive numbers and a number between 0 and 1, each as a scalar or for each x."""
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    forms = [draw(st.sampled_from([(), shape])) for _ in range(2)]
    drawn = [np.asarray(give.random.uniform(0.6, 6, form)) for form in forms]
    drawn.append(np.asarray(give.random.uniform(0.05, 0.95, draw(st.sampled_from([(), shape])))))
    operands = [each.astype(give.dtype) for each in drawn]
    return Case(operands, structural=frozenset({0, 1}))


CASES: dict[str, Strategy] = {
    **dict.fromkeys(
        (
            "Neg", "Abs", "Sign", "Square", "Exp", "Tanh", "Cos", "Sin", "Sigmoid", "Reciprocal",
            "Inv", "Floor", "Ceil", "Round", "IsFinite", "IsInf", "IsNan", "Relu", "L2Loss",
            "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign", "ZerosLike", "OnesLike",
            "Asinh", "Atan", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "Cosh", "Erf",
            "Erfc", "Expm1", "Rint", "Sinh",
        ),
        unary,
    ),
    "LogicalNot": lambda row, dtype=None: unary(row, dtypes.bool_),
    **dict.fromkeys(("Log", "Log1p", "Sqrt", "Rsqrt"), positive),
    **dict.fromkeys(("BesselJ0", "BesselJ1", "Dawsn", "FresnelCos", "FresnelSin"), unary),
    **dict.fromkeys(
        (
            *("BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1"),
            *("Expint", "Spence"),
        ),
        positive,
    ),
    **dict.fromkeys(("Acos", "Acosh", "Asin", "Atanh", "Tan"), between),
    **dict.fromkeys(("Digamma", "Lgamma"), off_integers),
    **dict.fromkeys(("Invert", "PopulationCount"), signed),
    **dict.fromkeys(
        (
            "Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "FloorDiv", "DivNoNan",
            "Maximum", "Minimum", "SquaredDifference", "Equal", "NotEqual", "Less", "LessEqual",
            "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr",
            "MulNoNan", "Xdivy", "TruncateDiv", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
            "Atan2", "NextAfter",
        ),
        binary,
    ),
    **dict.fromkeys(("FloorMod", "TruncateMod"), modulo),
    **dict.fromkeys(("LeftShift", "RightShift"), shifted),
    "Erfinv": between, "Ndtri": probabilities,
    **dict.fromkeys(("Xlogy", "Xlog1py"), times_logarithm), "Pow": power, "Cross": vectors,
    **dict.fromkeys(("Polygamma", "Zeta"), orders),
    **dict.fromkeys(("Igamma", "Igammac"), gamma_operands), "Betainc": beta_operands,
    **dict.fromkeys(
        (
            "TanhGrad", "SigmoidGrad", "ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad",
            "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad", "SqrtGrad", "RsqrtGrad",
            "ReciprocalGrad", "InvGrad",
        ),
        alike,
    ),
    "AddN": several, "AccumulateNV2": accumulated, "ClipByValue": clipped,
    "Select": select, "SelectV2": select_v2, "Cast": cast,
}  # fmt: skip
