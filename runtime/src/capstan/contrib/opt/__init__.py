"""`tf.contrib.opt`: kinds of Adam, optimizers by signs, weight decay, averages, old gradients."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.opt.adam_gs import AdamGSOptimizer as AdamGSOptimizer
from capstan.contrib.opt.adam_gs import LazyAdamGSOptimizer as LazyAdamGSOptimizer
from capstan.contrib.opt.adam_variants import AdaMaxOptimizer as AdaMaxOptimizer
from capstan.contrib.opt.adam_variants import NadamOptimizer as NadamOptimizer
from capstan.contrib.opt.agn import AGNCustomGetter as AGNCustomGetter
from capstan.contrib.opt.agn import AGNOptimizer as AGNOptimizer
from capstan.contrib.opt.delay_compensation import (
    DelayCompensatedGradientDescentOptimizer as DelayCompensatedGradientDescentOptimizer,
)
from capstan.contrib.opt.drop_stale import (
    DropStaleGradientOptimizer as DropStaleGradientOptimizer,
)
from capstan.contrib.opt.elastic_average import (
    ElasticAverageCustomGetter as ElasticAverageCustomGetter,
)
from capstan.contrib.opt.elastic_average import ElasticAverageOptimizer as ElasticAverageOptimizer
from capstan.contrib.opt.external_optimizer import (
    ExternalOptimizerInterface as ExternalOptimizerInterface,
)
from capstan.contrib.opt.external_optimizer import (
    ScipyOptimizerInterface as ScipyOptimizerInterface,
)
from capstan.contrib.opt.ggt import GGTOptimizer as GGTOptimizer
from capstan.contrib.opt.lars import LARSOptimizer as LARSOptimizer
from capstan.contrib.opt.lazy_adam import LazyAdamOptimizer as LazyAdamOptimizer
from capstan.contrib.opt.model_average import (
    ModelAverageCustomGetter as ModelAverageCustomGetter,
)
from capstan.contrib.opt.model_average import ModelAverageOptimizer as ModelAverageOptimizer
from capstan.contrib.opt.moving_average import MovingAverageOptimizer as MovingAverageOptimizer
from capstan.contrib.opt.multitask import MultitaskOptimizerWrapper as MultitaskOptimizerWrapper
from capstan.contrib.opt.multitask import (
    clip_gradients_by_global_norm as clip_gradients_by_global_norm,
)
from capstan.contrib.opt.reg_adagrad import RegAdagradOptimizer as RegAdagradOptimizer
from capstan.contrib.opt.shampoo import ShampooOptimizer as ShampooOptimizer
from capstan.contrib.opt.sign_optimizers import AddSignOptimizer as AddSignOptimizer
from capstan.contrib.opt.sign_optimizers import PowerSignOptimizer as PowerSignOptimizer
from capstan.contrib.opt.variable_clipping import (
    VariableClippingOptimizer as VariableClippingOptimizer,
)
from capstan.contrib.opt.weight_decay import AdamWOptimizer as AdamWOptimizer
from capstan.contrib.opt.weight_decay import (
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
)
from capstan.contrib.opt.weight_decay import MomentumWOptimizer as MomentumWOptimizer
from capstan.contrib.opt.weight_decay import (
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)
from capstan.core import alias, public

alias.grow(
    __name__,
    {
        f"python.training.{name}": (__name__,)
        for name in (
            *(
                "adam_gs_optimizer",
                "adamax",
                "addsign",
                "external_optimizer",
                "powersign",
                "drop_stale_gradient_optimizer",
                "lars_optimizer",
                "lazy_adam_gs_optimizer",
                "lazy_adam_optimizer",
                "reg_adagrad_optimizer",
            ),
            *("moving_average_optimizer", "nadam_optimizer", "weight_decay_optimizers"),
            *("ggt", "shampoo", "variable_clipping_optimizer"),
        )
    }
    | {
        f"python.training.{name}_optimizer": (__name__, f"capstan.contrib.opt.{name}")
        for name in ("agn", "elastic_average", "model_average")
    }
    | {
        "python.training.multitask_optimizer_wrapper": (__name__,),
        "python.training.sign_decay": ("capstan.contrib.opt.sign_decay",),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.opt", name)


def __dir__() -> list[str]:
    return public.names(globals())
