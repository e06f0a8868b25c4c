"""Rows of random ops that depend only on their seeds (core/ops/stateless_random_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

_SEEDS = {"Tseed": typesets.INDEX}
_WORDS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)
_KEYED = ("shape: Tshape", "key: uint64", "counter: uint64", "alg: int32")
_HOST_KEY = ("shape", "key", "counter", "alg")


def _check_seed(shape: shapes.Shape) -> None:
    (size,) = rules.with_rank(shape, 1)
    if size not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {size}")


def _drawn(ctx: ShapeContext) -> rules.Shapes:
    _check_seed(ctx.inputs[1])
    for bound in ctx.inputs[2:]:
        shapes.with_rank(bound, 0)
    return rules.from_value(ctx)


def _keyed(ctx: ShapeContext) -> rules.Shapes:
    for vector in ctx.inputs[1:3]:
        shapes.with_rank(vector, 1)
    for scalar in ctx.inputs[3:]:
        shapes.with_rank(scalar, 0)
    return rules.from_value(ctx)


def _key(ctx: ShapeContext) -> rules.Shapes:
    _check_seed(ctx.inputs[0])
    return (1,), (2,), ()


def _classes(ctx: ShapeContext) -> rules.Shapes:
    logits, count = rules.with_rank(ctx.inputs[0], 2), ctx.constant(1)
    shapes.with_rank(ctx.inputs[1], 0)
    _check_seed(ctx.inputs[2])
    return ((logits[0], None if count is None else int(count)),)


for _name in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
    define(
        OpDef(
            _name,
            ("shape: T", "seed: Tseed"),
            ("output: dtype",),
            attrs={"dtype": dtypes.float32, "T": dtypes.int32, "Tseed": dtypes.int64},
            shape=_drawn,
            not_differentiable=True,
            types={"dtype": typesets.FLOATING, "T": typesets.INDEX, **_SEEDS},
            host=("shape", "seed"),
        )
    )
define(
    OpDef(
        "StatelessRandomUniformInt",
        ("shape: T", "seed: Tseed", "minval: dtype", "maxval: dtype"),
        ("output: dtype",),
        attrs={"Tseed": dtypes.int64},
        shape=_drawn,
        not_differentiable=True,
        types={"dtype": typesets.INDEX, "T": typesets.INDEX, **_SEEDS},
        host=("shape", "seed", "minval", "maxval"),
    )
)
define(
    OpDef(
        "StatelessMultinomial",
        ("logits: T", "num_samples: int32", "seed: Tseed"),
        ("output: output_dtype",),
        attrs={"Tseed": dtypes.int64, "output_dtype": dtypes.int64},
        shape=_classes,
        not_differentiable=True,
        types={"T": typesets.NUMERIC, "output_dtype": typesets.INDEX, **_SEEDS},
        host=("num_samples", "seed"),
    )
)
for _name in ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"):
    define(
        OpDef(
            _name,
            _KEYED,
            ("output: dtype",),
            attrs={"dtype": dtypes.float32, "Tshape": dtypes.int32},
            shape=_keyed,
            not_differentiable=True,
            types={"dtype": typesets.FLOATING, "Tshape": typesets.INDEX},
            host=_HOST_KEY,
        )
    )
define(
    OpDef(
        "StatelessRandomUniformIntV2",
        (*_KEYED, "minval: dtype", "maxval: dtype"),
        ("output: dtype",),
        attrs={"Tshape": dtypes.int32},
        shape=_keyed,
        not_differentiable=True,
        types={"dtype": _WORDS, "Tshape": typesets.INDEX},
        host=(*_HOST_KEY, "minval", "maxval"),
    )
)
define(
    OpDef(
        "StatelessRandomUniformFullIntV2",
        _KEYED,
        ("output: dtype",),
        attrs={"dtype": dtypes.uint64, "Tshape": dtypes.int32},
        shape=_keyed,
        not_differentiable=True,
        types={"dtype": _WORDS, "Tshape": typesets.INDEX},
        host=_HOST_KEY,
    )
)
define(
    OpDef(
        "StatelessRandomUniformFullInt",
        ("shape: T", "seed: Tseed"),
        ("output: dtype",),
        attrs={"dtype": dtypes.uint64, "T": dtypes.int32, "Tseed": dtypes.int64},
        shape=_drawn,
        not_differentiable=True,
        types={"dtype": _WORDS, "T": typesets.INDEX, "Tseed": _WORDS},
        host=("shape", "seed"),
    )
)
define(
    OpDef(
        "StatelessRandomGetKeyCounter",
        ("seed: Tseed",),
        ("key: uint64", "counter: uint64"),
        attrs={"Tseed": dtypes.int64},
        shape=lambda ctx: _key(ctx)[:2],
        not_differentiable=True,
        types=_SEEDS,
        host=("seed", "key", "counter"),
    )
)
define(
    OpDef(
        "StatelessRandomGetKeyCounterAlg",
        ("seed: Tseed",),
        ("key: uint64", "counter: uint64", "alg: int32"),
        attrs={"Tseed": dtypes.int64},
        shape=_key,
        not_differentiable=True,
        types=_SEEDS,
        host=("seed", "key", "counter", "alg"),
    )
)
define(
    OpDef(
        "StatelessRandomGetAlg",
        (),
        ("alg: int32",),
        shape=rules.scalar,
        not_differentiable=True,
        host=("alg",),
    )
)
