"""Rows of the updates of optimizers, which run on the device of the variable.

Source: tensorflow/core/ops/training_ops.cc.
"""

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

_FLOAT = {"T": typesets.FLOATING}


def _descent_shape(ctx: ShapeContext) -> rules.Shapes:
    var, alpha, delta = ctx.inputs
    _scalars(alpha)
    return (shapes.merge(var, delta),)


def _momentum_shape(ctx: ShapeContext) -> rules.Shapes:
    var, accum, rate, grad, momentum = ctx.inputs
    _scalars(rate, momentum)
    return (shapes.merge(shapes.merge(var, accum), grad),)


def _sparse_momentum_shape(ctx: ShapeContext) -> rules.Shapes:
    var, accum, rate, grad, indices, momentum = ctx.inputs
    _scalars(rate, momentum)
    known = shapes.merge(var, accum)
    (count,) = rules.with_rank(indices, 1)
    if known is not None:
        shapes.with_rank_at_least(known, 1)
        shapes.merge(grad, (count, *known[1:]))
    return (known,)


def _adam_shape(ctx: ShapeContext) -> rules.Shapes:
    var, m, v, *numbers, grad = ctx.inputs
    _scalars(*numbers)
    return (shapes.merge(shapes.merge(shapes.merge(var, m), v), grad),)


def _scalars(*numbers: shapes.Shape) -> None:
    for number in numbers:
        shapes.with_rank(number, 0)


UPDATES = (
    OpDef(
        "ApplyGradientDescent",
        ("var: Ref(T)", "alpha: T", "delta: T"),
        ("out: Ref(T)",),
        attrs={"use_locking": False},
        shape=_descent_shape,
        effect=facts.changes("var"),
        types=_FLOAT,
    ),
    OpDef(
        "ApplyMomentum",
        ("var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T", "momentum: T"),
        ("out: Ref(T)",),
        attrs={"use_locking": False, "use_nesterov": False},
        shape=_momentum_shape,
        effect=facts.changes("var", "accum"),
        types=_FLOAT,
    ),
    OpDef(
        "SparseApplyMomentum",
        (
            "var: Ref(T)",
            "accum: Ref(T)",
            "lr: T",
            "grad: T",
            "indices: Tindices",
            "momentum: T",
        ),
        ("out: Ref(T)",),
        attrs={"use_locking": False, "use_nesterov": False},
        shape=_sparse_momentum_shape,
        effect=facts.changes("var", "accum"),
        types={**_FLOAT, "Tindices": typesets.INDEX},
    ),
    OpDef(
        "ApplyAdam",
        (
            "var: Ref(T)",
            "m: Ref(T)",
            "v: Ref(T)",
            "beta1_power: T",
            "beta2_power: T",
            "lr: T",
            "beta1: T",
            "beta2: T",
            "epsilon: T",
            "grad: T",
        ),
        ("out: Ref(T)",),
        attrs={"use_locking": False, "use_nesterov": False},
        shape=_adam_shape,
        effect=facts.changes("var", "m", "v"),
        types=_FLOAT,
    ),
)
"""The rows for reference variables. `ops.resource` derives the rows for resource variables."""

for _row in UPDATES:
    define(_row)
