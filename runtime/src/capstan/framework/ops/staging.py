"""Rows of staging areas and of session tensors (tensorflow/core/ops/data_flow_ops.cc).

A node names its staging area by attributes, and no tensor stands for the area. Only inputs
and control inputs therefore order two such nodes in a step.
"""

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, ShapeRule, define
from capstan.framework.ops import rules

_AREA = {"capacity": 0, "memory_limit": 0, "dtypes": list, "container": b"", "shared_name": b""}
_WAITS = facts.EXTERNAL | facts.BLOCKS


def _unknown(count: int) -> ShapeRule:
    """Return the shape rule for `count` scalars and then the components of an element."""

    def rule(ctx: ShapeContext) -> rules.Shapes:
        return ((),) * count + (None,) * len(ctx.attrs["dtypes"])

    return rule


def _define(
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    shape: ShapeRule,
    *,
    waits: bool,
    fake_types: bool = False,
) -> None:
    texts = (*inputs, *outputs)
    host = [text.split(":")[0] for text in texts if "dtypes" not in text]
    listed = [text.split(": ")[1] for text in texts if "dtypes" in text]
    define(
        OpDef(
            name,
            inputs,
            outputs,
            attrs={**_AREA, **({"fake_dtypes": list} if fake_types else {})},
            shape=shape,
            not_differentiable=True,
            minima={"capacity": 0, "memory_limit": 0, **dict.fromkeys(listed, 1)},
            effect=_WAITS if waits else facts.EXTERNAL,
            host=tuple(host),
        )
    )


_define("Stage", ("values: dtypes",), (), rules.nothing, waits=True)
_define("Unstage", (), ("values: dtypes",), _unknown(0), waits=True)
_define("StagePeek", ("index: int32",), ("values: dtypes",), _unknown(0), waits=True)
_define("StageSize", (), ("size: int32",), rules.scalar, waits=False)
_define("StageClear", (), (), rules.nothing, waits=False)
for _prefix in ("", "Ordered"):
    _key = ("key: int64", "indices: int32")
    _define(
        f"{_prefix}MapStage",
        (*_key, "values: fake_dtypes"),
        (),
        rules.nothing,
        waits=True,
        fake_types=True,
    )
    for _name in ("MapPeek", "MapUnstage"):
        _define(_prefix + _name, _key, ("values: dtypes",), _unknown(0), waits=True)
    _define(
        f"{_prefix}MapUnstageNoKey",
        ("indices: int32",),
        ("key: int64", "values: dtypes"),
        _unknown(1),
        waits=True,
    )
    for _name in ("MapSize", "MapIncompleteSize"):
        _define(_prefix + _name, (), ("size: int32",), rules.scalar, waits=False)
    _define(f"{_prefix}MapClear", (), (), rules.nothing, waits=False)


def _held(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return (None,)


def _deleted(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ()


define(
    OpDef(
        "GetSessionHandle",
        ("value: T",),
        ("handle: string",),
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.EXTERNAL,
        role=facts.Role.SESSION_HANDLE,
        host=("handle",),
    )
)
define(
    OpDef(
        "GetSessionTensor",
        ("handle: string",),
        ("value: dtype",),
        attrs={"dtype": dtypes.DType},
        shape=_held,
        not_differentiable=True,
        effect=facts.EXTERNAL,
        host=("handle",),
    )
)
define(
    OpDef(
        "DeleteSessionTensor",
        ("handle: string",),
        shape=_deleted,
        not_differentiable=True,
        effect=facts.EXTERNAL,
        host=("handle",),
    )
)
