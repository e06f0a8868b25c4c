"""The ops whose output at a place depends only on the inputs at that place.

Their inputs broadcast as NumPy's do. A function of such ops can compute many elements of a dataset
in one call (`executor.blocks`).
"""

NAMES = frozenset(
    {
        "Abs", "Add", "AddV2", "Cast", "Ceil", "Cos", "Equal", "Exp", "Floor", "Greater",
        "GreaterEqual", "Identity", "Less", "LessEqual", "Log", "LogicalAnd", "LogicalNot",
        "LogicalOr", "Maximum", "Minimum", "Mul", "Neg", "NotEqual", "Relu", "Sigmoid", "Sign",
        "Sin", "Sqrt", "Square", "Sub", "Tanh",
    }
)  # fmt: skip

DIVISIONS = frozenset({"Div", "FloorDiv", "FloorMod", "Mod", "RealDiv", "TruncateDiv"})
"""Ops that fail for some divisors. They would fail for a whole block instead of one element."""
