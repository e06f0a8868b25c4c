"""Rows of the ops that call functions: loops, branches and plain calls.

The compiler makes a `While` or `StatelessWhile` of every loop of TensorFlow 1. It replaces all
other calls by the bodies of the functions, so no kernel runs a call.
"""

from typing import Any

from capstan.core import function
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules


def _declared(outputs: str) -> Any:
    """Return the shape rule of an op whose attribute `output_shapes` has the shapes.

    `outputs` is the attribute with the types of the outputs.
    """

    def shapes(ctx: ShapeContext) -> rules.Shapes:
        count = len(ctx.attrs[outputs])
        declared = ctx.attrs["output_shapes"]
        if len(declared) != count:
            return (None,) * count
        return tuple(shape.internal for shape in declared)

    return shapes


def _undeclared(ctx: ShapeContext) -> rules.Shapes:
    return (None,) * len(ctx.attrs["Tout"])


def _as_many(types: str) -> Any:
    """Return the shape rule of outputs of unknown shapes. `types` is the attribute of the types."""
    return lambda ctx: (None,) * len(ctx.attrs[types])


def _mapped(ctx: ShapeContext) -> rules.Shapes:
    declared, count = ctx.attrs["output_shapes"], len(ctx.attrs["Targuments"])
    if len(declared) != len(ctx.attrs["output_types"]):
        raise ValueError(
            "`output_shapes` must be the same length as `output_types` "
            f"({len(declared)} vs. {len(ctx.attrs['output_types'])})"
        )
    rows: int | None = None
    for place, shape in enumerate(ctx.inputs[:count]):
        if shape == ():
            raise ValueError(f"Arguments must have rank at least 1. Input {place} has rank of 0.")
        size = None if shape is None else shape[0]
        if size is not None and rows not in (None, size):
            raise ValueError("Arguments must have the same dimension 0.")
        rows = rows if size is None else size
    return tuple(None if shape.internal is None else (rows, *shape.internal) for shape in declared)


def _all_unchanged(ctx: ShapeContext) -> rules.Shapes:
    return tuple(ctx.inputs)


def _all_passed_on(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return grads


# A stateless loop may draw random numbers. Its row therefore does not let the compiler merge two
# equal loops.
for _prefix, _effect in (("", facts.CALLS), ("Stateless", facts.RANDOM)):
    define(
        OpDef(
            f"{_prefix}While",
            ("input: T",),
            ("output: T",),
            attrs={
                "T": list,
                "cond": function.Reference,
                "body": function.Reference,
                "output_shapes": [],
                "parallel_iterations": 10,
            },
            shape=_declared("T"),
            effect=_effect,
            role=facts.Role.WHILE,
        )
    )
    define(
        OpDef(
            f"{_prefix}If",
            ("cond: Tcond", "input: Tin"),
            ("output: Tout",),
            attrs={
                "Tin": list,
                "Tout": list,
                "then_branch": function.Reference,
                "else_branch": function.Reference,
                "output_shapes": [],
            },
            shape=_declared("Tout"),
            effect=facts.CALLS,
            role=facts.Role.IF,
        )
    )
    define(
        OpDef(
            f"{_prefix}Case",
            ("branch_index: int32", "input: Tin"),
            ("output: Tout",),
            attrs={"Tin": list, "Tout": list, "branches": list, "output_shapes": []},
            minima={"branches": 1},
            shape=_declared("Tout"),
            effect=facts.CALLS,
            role=facts.Role.CASE,
        )
    )
define(
    # The compiler makes this node of a loop whose body waits or spans tasks. Clients must not send
    # it, because its attributes are handles of programs.
    OpDef(
        "_While",
        ("input: Tin",),
        ("output: T",),
        attrs={
            "Tin": list,
            "T": list,
            "cond": bytes,
            "body": bytes,
            "output_shapes": [],
        },
        shape=_declared("T"),
        effect=facts.CALLS | facts.BLOCKS,
        role=facts.Role.ITERATIONS,
    )
)
define(
    # `graph.calls` replaces this node by a call.
    OpDef(
        "SymbolicGradient",
        ("input: Tin",),
        ("output: Tout",),
        attrs={"Tin": list, "Tout": list, "f": function.Reference},
        shape=_undeclared,
        effect=facts.CALLS,
        role=facts.Role.GRADIENT,
    )
)
for _op in ("PartitionedCall", "StatefulPartitionedCall"):
    define(
        OpDef(
            _op,
            ("args: Tin",),
            ("output: Tout",),
            attrs={
                "Tin": list,
                "Tout": list,
                "f": function.Reference,
                "config": b"",
                "config_proto": b"",
                "executor_type": b"",
            },
            shape=_undeclared,
            effect=facts.CALLS,
            role=facts.Role.CALL,
        )
    )
define(
    # `graph.calls` replaces this node by a While.
    OpDef(
        "For",
        ("start: int32", "limit: int32", "delta: int32", "input: T"),
        ("output: T",),
        attrs={"T": list, "body": function.Reference},
        shape=_as_many("T"),
        effect=facts.CALLS,
        role=facts.Role.FOR,
    )
)
define(
    # `graph.calls` replaces this node by a call on the device.
    OpDef(
        "RemoteCall",
        ("target: string", "args: Tin"),
        ("output: Tout",),
        attrs={"Tin": list, "Tout": list, "f": function.Reference},
        minima={"Tin": 1, "Tout": 1},
        shape=_undeclared,
        effect=facts.CALLS,
        role=facts.Role.REMOTE_CALL,
    )
)
define(
    OpDef(
        "MapDefun",
        ("arguments: Targuments", "captured_inputs: Tcaptured"),
        ("output: output_types",),
        attrs={
            "Targuments": list,
            "Tcaptured": [],
            "output_types": list,
            "output_shapes": list,
            "f": function.Reference,
            "max_intra_op_parallelism": 1,
        },
        minima={"Targuments": 1, "output_types": 1, "output_shapes": 1},
        shape=_mapped,
        not_differentiable=True,
        effect=facts.EXTERNAL | facts.BLOCKS,
        role=facts.Role.KEEPS,
    )
)
define(
    # A number is true if it is not 0, and a string if it is not empty. A tensor with axes is true
    # if it has elements.
    OpDef(
        "ToBool",
        ("input: T",),
        ("output: bool",),
        shape=rules.scalar,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "IdentityN",
        ("input: T",),
        ("output: T",),
        attrs={"T": list},
        minima={"T": 1},
        shape=_all_unchanged,
        gradient=_all_passed_on,
        role=facts.Role.IDENTITIES,
    )
)
