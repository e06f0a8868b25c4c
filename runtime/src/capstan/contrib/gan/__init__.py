"""`tf.contrib.gan`: networks that generate data, trained against networks that judge the data.

A training has four steps: `gan_model` makes a model, `gan_loss` its losses, `gan_train_ops` the
operations, and `gan_train` runs them.
"""

import importlib
from typing import Any

from capstan.api.absent import absent
from capstan.contrib.gan.models import acgan_model as acgan_model
from capstan.contrib.gan.models import cyclegan_model as cyclegan_model
from capstan.contrib.gan.models import gan_model as gan_model
from capstan.contrib.gan.models import infogan_model as infogan_model
from capstan.contrib.gan.models import stargan_model as stargan_model
from capstan.contrib.gan.objectives import cyclegan_loss as cyclegan_loss
from capstan.contrib.gan.objectives import gan_loss as gan_loss
from capstan.contrib.gan.objectives import stargan_loss as stargan_loss
from capstan.contrib.gan.training import RunTrainOpsHook as RunTrainOpsHook
from capstan.contrib.gan.training import gan_train as gan_train
from capstan.contrib.gan.training import gan_train_ops as gan_train_ops
from capstan.contrib.gan.training import get_joint_train_hooks as get_joint_train_hooks
from capstan.contrib.gan.training import get_sequential_train_hooks as get_sequential_train_hooks
from capstan.contrib.gan.training import get_sequential_train_steps as get_sequential_train_steps
from capstan.contrib.gan.tuples import ACGANModel as ACGANModel
from capstan.contrib.gan.tuples import CycleGANLoss as CycleGANLoss
from capstan.contrib.gan.tuples import CycleGANModel as CycleGANModel
from capstan.contrib.gan.tuples import GANLoss as GANLoss
from capstan.contrib.gan.tuples import GANModel as GANModel
from capstan.contrib.gan.tuples import GANTrainOps as GANTrainOps
from capstan.contrib.gan.tuples import GANTrainSteps as GANTrainSteps
from capstan.contrib.gan.tuples import InfoGANModel as InfoGANModel
from capstan.contrib.gan.tuples import StarGANModel as StarGANModel
from capstan.core import alias, public

_MODULES = frozenset(("estimator", "eval", "features", "losses"))
_EVAL = ("classifier_metrics", "classifier_graphs", "kernel_distances")

alias.grow(
    __name__,
    {
        "namedtuples": (f"{__name__}.tuples",),
        "train": (__name__,),
        "python.namedtuples": (f"{__name__}.tuples",),
        "python.train": (__name__,),
        **{
            f"python.estimator.python.{name}{end}": (f"{__name__}.estimator",)
            for name in ("gan_estimator", "head", "stargan_estimator")
            for end in ("", "_impl")
        },
        **{
            f"python.{path}{end}": tuple(f"{__name__}.{home}" for home in homes)
            for path, homes in {
                "eval.python.classifier_metrics": _EVAL,
                "eval.python.eval_utils": ("images",),
                "eval.python.sliced_wasserstein": ("sliced_distances",),
                "eval.python.summaries": ("model_summaries",),
                "features.python.clip_weights": ("features",),
                "features.python.conditioning_utils": ("features",),
                "features.python.random_tensor_pool": ("features",),
                "features.python.spectral_normalization": ("spectral_norms",),
                "features.python.virtual_batchnorm": ("virtual_batches",),
                "losses.python.losses": ("output_losses", "penalties"),
                "losses.python.tuple_losses": ("losses",),
            }.items()
            for end in ("", "_impl")
        },
        "python.losses.python.losses_wargs": (f"{__name__}.output_losses", f"{__name__}.penalties"),
    },
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise absent("tf.contrib.gan", name)


def __dir__() -> list[str]:
    return sorted({*public.names(globals()), *_MODULES, *alias.inside(globals())} - {"python"})
