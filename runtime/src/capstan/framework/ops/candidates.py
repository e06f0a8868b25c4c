"""Rows of the ops that draw classes for a loss over few of many classes, and of `Multinomial`.

Source: core/ops/candidate_sampling_ops.cc, core/ops/random_ops.cc.
"""

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import Floats, OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _sampled(ctx: ShapeContext) -> rules.Shapes:
    count, true_count = ctx.attrs["num_sampled"], ctx.attrs["num_true"]
    if count < 1:
        raise ValueError(f"num_sampled must be at least 1, not {count}")
    classes = rules.with_rank(ctx.inputs[0], 2)
    shapes.merge(classes[1:], (true_count,))
    return ((count,), (classes[0], true_count), (count,))


def _hits(ctx: ShapeContext) -> rules.Shapes:
    classes = rules.with_rank(ctx.inputs[0], 2)
    shapes.merge(classes[1:], (ctx.attrs["num_true"],))
    rules.with_rank(ctx.inputs[1], 1)
    return ((None,),) * 3


def _drawn(ctx: ShapeContext) -> rules.Shapes:
    rows = rules.with_rank(ctx.inputs[0], 2)
    count = ctx.constant(1)
    return ((rows[0], None if count is None else int(count)),)


_SEEDS = {"seed": 0, "seed2": 0}
_SAMPLER = {"num_true": int, "num_sampled": int, "unique": bool}
_RANGE = {**_SAMPLER, "range_max": int}
_LEAST = {"num_true": 1, "num_sampled": 1}
for _name, _attrs, _minima in (
    ("UniformCandidateSampler", _RANGE, {"range_max": 1}),
    ("LogUniformCandidateSampler", _RANGE, {"range_max": 1}),
    ("LearnedUnigramCandidateSampler", _RANGE, {"range_max": 1}),
    ("ThreadUnsafeUnigramCandidateSampler", _RANGE, {"range_max": 1}),
    (
        "FixedUnigramCandidateSampler",
        {
            **_RANGE,
            "vocab_file": b"",
            "distortion": 1.0,
            "num_reserved_ids": 0,
            "num_shards": 1,
            "shard": 0,
            "unigrams": Floats(),
        },
        {"range_max": 1, "num_shards": 1, "shard": 0},
    ),
    ("AllCandidateSampler", _SAMPLER, {}),
):
    define(
        OpDef(
            _name,
            ("true_classes: int64",),
            (
                "sampled_candidates: int64",
                "true_expected_count: float32",
                "sampled_expected_count: float32",
            ),
            attrs={**_attrs, **_SEEDS},
            shape=_sampled,
            not_differentiable=True,
            effect=facts.RANDOM,
            minima={**_LEAST, **_minima},
        )
    )
define(
    OpDef(
        "ComputeAccidentalHits",
        ("true_classes: int64", "sampled_candidates: int64"),
        ("indices: int32", "ids: int64", "weights: float32"),
        attrs={"num_true": int, **_SEEDS},
        shape=_hits,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "Multinomial",
        ("logits: T", "num_samples: int32"),
        ("output: output_dtype",),
        attrs={"seed": 0, "seed2": 0, "output_dtype": dtypes.int64},
        shape=_drawn,
        not_differentiable=True,
        effect=facts.RANDOM,
        types={"T": typesets.NUMERIC, "output_dtype": typesets.INDEX},
        host=("num_samples",),
    )
)
