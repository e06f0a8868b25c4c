"""`tf.contrib.opt`: Adam for embeddings, and optimizers with decoupled weight decay."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.opt.lazy_adam import LazyAdamOptimizer as LazyAdamOptimizer
from capstan.contrib.opt.weight_decay import AdamWOptimizer as AdamWOptimizer
from capstan.contrib.opt.weight_decay import (
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
)
from capstan.contrib.opt.weight_decay import MomentumWOptimizer as MomentumWOptimizer
from capstan.contrib.opt.weight_decay import (
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)
from capstan.core import public


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.opt", name)


def __dir__() -> list[str]:
    return public.names(globals())
