"""Rows of the datasets that share seeds or elements through a resource (core/ops/dataset_ops.cc).

TensorFlow 2 makes them in place of the ops of TensorFlow 1. In a graph, its resources are dummies.
"""

from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules
from capstan.framework.ops.datasets import NAMED, SHUFFLE, SOURCE, dataset

_GENERATOR = "seed_generator: resource"
_RESHUFFLES = {"reshuffle_each_iteration": True, **NAMED}
dataset("ShuffleDatasetV2", (SOURCE, "buffer_size: int64", _GENERATOR), NAMED, facts.EXTERNAL)
dataset("ShuffleDatasetV3", (*SHUFFLE, _GENERATOR), _RESHUFFLES, facts.EXTERNAL)
dataset(
    "ShuffleAndRepeatDatasetV2",
    (*SHUFFLE, "count: int64", _GENERATOR),
    _RESHUFFLES,
    facts.EXTERNAL,
)
dataset(
    "RandomDatasetV2",
    ("seed: int64", "seed2: int64", _GENERATOR),
    {"rerandomize_each_iteration": False, **NAMED},
    facts.EXTERNAL,
)
dataset("CacheDatasetV2", (SOURCE, "filename: string", "cache: resource"), NAMED, facts.EXTERNAL)


def _pair(ctx: ShapeContext) -> rules.Shapes:
    return ((), ())


_SEEDS = ("seed: int64", "seed2: int64")
for _name, _inputs, _outputs in (
    ("DummySeedGenerator", (), ("handle: resource",)),
    ("DummyMemoryCache", (), ("handle: resource",)),
    ("AnonymousMemoryCache", (), ("handle: resource", "deleter: variant")),
    ("AnonymousRandomSeedGenerator", _SEEDS, ("handle: resource", "deleter: variant")),
    (
        "AnonymousSeedGenerator",
        (*_SEEDS, "reshuffle: bool"),
        ("handle: resource", "deleter: variant"),
    ),
):
    define(
        OpDef(
            _name,
            _inputs,
            _outputs,
            shape=_pair if len(_outputs) == 2 else rules.scalar,
            not_differentiable=True,
            effect=facts.MAKES,
            host=tuple(text.split(":")[0] for text in _inputs),
        )
    )
