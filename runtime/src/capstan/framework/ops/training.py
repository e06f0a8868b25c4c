"""Rows of the updates of optimizers, which run on the device of the variable.

Source: tensorflow/core/ops/training_ops.cc.
"""

from collections.abc import Sequence

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, ShapeRule, define
from capstan.framework.ops import rules, typesets

_GRADIENTS = ("grad", "delta")


def _shape(targets: int, arguments: Sequence[str]) -> ShapeRule:
    """Return the shape rule of an update of `targets` variables with the named arguments."""

    def shape(ctx: ShapeContext) -> rules.Shapes:
        known = ctx.inputs[0]
        for slot in ctx.inputs[1:targets]:
            known = shapes.merge(known, slot)
        inputs = dict(zip(arguments, ctx.inputs[targets:], strict=True))
        rows = _sparse_rows(known, inputs) if "indices" in inputs else known
        for name, found in inputs.items():
            if name in _GRADIENTS:
                merged = shapes.merge(rows, found)
                known = known if "indices" in inputs else merged
            elif name != "indices":
                shapes.with_rank(found, 0)
        return (known,)

    return shape


def _sparse_rows(known: shapes.Shape, inputs: dict[str, shapes.Shape]) -> shapes.Shape:
    (count,) = rules.with_rank(inputs["indices"], 1)
    if known is None:
        return None
    shapes.with_rank_at_least(known, 1)
    return (count, *known[1:])


def _update(name: str, targets: str, arguments: str, **attrs: bool) -> OpDef:
    """Return the row of an update. `targets` and `arguments` are names, with spaces between them.

    An argument has the type T, unless its name is `indices` or `global_step`.
    """
    types = {"indices": "Tindices", "global_step": "int64"}
    variables, others = targets.split(), arguments.split()
    return OpDef(
        name,
        (
            *(f"{target}: Ref(T)" for target in variables),
            *(f"{other}: {types.get(other, 'T')}" for other in others),
        ),
        ("out: Ref(T)",),
        attrs={"use_locking": False, **attrs},
        shape=_shape(len(variables), others),
        effect=facts.changes_values(*variables),
        types={"T": typesets.FLOATING}
        | ({"Tindices": typesets.INDEX} if "indices" in others else {}),
    )


_RMS_PROP = "lr rho momentum epsilon"
_ADAGRAD_DA = "var gradient_accumulator gradient_squared_accumulator"

UPDATES = (
    _update("ApplyGradientDescent", "var", "alpha delta"),
    _update("ApplyProximalGradientDescent", "var", "alpha l1 l2 delta"),
    _update("SparseApplyProximalGradientDescent", "var", "alpha l1 l2 grad indices"),
    _update("ApplyMomentum", "var accum", "lr grad momentum", use_nesterov=False),
    _update("SparseApplyMomentum", "var accum", "lr grad indices momentum", use_nesterov=False),
    _update(
        "ApplyAdam",
        "var m v",
        "beta1_power beta2_power lr beta1 beta2 epsilon grad",
        use_nesterov=False,
    ),
    _update("ApplyAdaMax", "var m v", "beta1_power lr beta1 beta2 epsilon grad"),
    _update("ApplyAddSign", "var m", "lr alpha sign_decay beta grad"),
    _update("ApplyPowerSign", "var m", "lr logbase sign_decay beta grad"),
    _update("ApplyAdagrad", "var accum", "lr grad", update_slots=True),
    _update("SparseApplyAdagrad", "var accum", "lr grad indices", update_slots=True),
    _update("ApplyAdagradV2", "var accum", "lr epsilon grad", update_slots=True),
    _update("SparseApplyAdagradV2", "var accum", "lr epsilon grad indices", update_slots=True),
    _update("ApplyProximalAdagrad", "var accum", "lr l1 l2 grad"),
    _update("SparseApplyProximalAdagrad", "var accum", "lr l1 l2 grad indices"),
    _update("ApplyAdagradDA", _ADAGRAD_DA, "grad lr l1 l2 global_step"),
    _update("SparseApplyAdagradDA", _ADAGRAD_DA, "grad indices lr l1 l2 global_step"),
    _update("ApplyAdadelta", "var accum accum_update", "lr rho epsilon grad"),
    _update("SparseApplyAdadelta", "var accum accum_update", "lr rho epsilon grad indices"),
    _update("ApplyRMSProp", "var ms mom", f"{_RMS_PROP} grad"),
    _update("SparseApplyRMSProp", "var ms mom", f"{_RMS_PROP} grad indices"),
    _update("ApplyCenteredRMSProp", "var mg ms mom", f"{_RMS_PROP} grad"),
    _update("SparseApplyCenteredRMSProp", "var mg ms mom", f"{_RMS_PROP} grad indices"),
    _update("ApplyFtrl", "var accum linear", "grad lr l1 l2 lr_power", multiply_linear_by_lr=False),
    _update(
        "SparseApplyFtrl",
        "var accum linear",
        "grad indices lr l1 l2 lr_power",
        multiply_linear_by_lr=False,
    ),
    _update(
        "ApplyFtrlV2",
        "var accum linear",
        "grad lr l1 l2 l2_shrinkage lr_power",
        multiply_linear_by_lr=False,
    ),
    _update(
        "SparseApplyFtrlV2",
        "var accum linear",
        "grad indices lr l1 l2 l2_shrinkage lr_power",
        multiply_linear_by_lr=False,
    ),
)
"""The rows for reference variables. `ops.resource` derives the rows for resource variables."""

RESOURCE_UPDATES = (
    _update("ApplyKerasMomentum", "var accum", "lr grad momentum", use_nesterov=False),
    _update(
        "SparseApplyKerasMomentum", "var accum", "lr grad indices momentum", use_nesterov=False
    ),
    _update(
        "ApplyAdamWithAmsgrad",
        "var m v vhat",
        "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    ),
)
"""The updates that TensorFlow has for resource variables only, in the form of `UPDATES`."""

for _row in UPDATES:
    define(_row)
