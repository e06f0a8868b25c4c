"""`tf.contrib.estimator.replicate_model_fn`, for one device.

TensorFlow copies the model to each GPU of a task. A task of Capstan trains on one GPU, and a job
has a task for each GPU. Source:
tensorflow_estimator/contrib/estimator/python/estimator/replicate_model_fn.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import context
from capstan.api.losses import Reduction
from capstan.contrib.estimator import wrapped
from capstan.estimator import arguments, estimator_spec


def replicate_model_fn(
    model_fn: Callable[..., Any],
    loss_reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    devices: Sequence[str] | None = None,
) -> Callable[..., estimator_spec.EstimatorSpec]:
    """Return a `model_fn` whose operations are on the only device of `devices`.

    Without `devices`, the placer chooses. There is one copy of the model, so `loss_reduction`
    changes nothing.

    Raises:
        ValueError: `loss_reduction` is NONE, or there are several devices.
    """
    if loss_reduction == Reduction.NONE:
        raise ValueError(
            f"Tower losses need to be reduced in some way, yet {loss_reduction} reduction is "
            "specified."
        )
    if devices is not None and len(devices) != 1:
        raise ValueError(
            f"replicate_model_fn: Capstan trains on one device in each task, got {devices}. Give "
            "one device, and run a worker for each GPU"
        )
    names = arguments.names(model_fn)

    def replicated(
        features: Any, labels: Any, mode: str, params: Any = None, config: Any = None
    ) -> estimator_spec.EstimatorSpec:
        available = {"labels": labels, "mode": mode, "params": params, "config": config}
        given = {name: value for name, value in available.items() if name in names}
        with context.device(devices[0] if devices else None):
            spec: estimator_spec.EstimatorSpec = model_fn(features=features, **given)
        return spec

    return replicated


class TowerOptimizer(wrapped.WrappedOptimizer):
    """An optimizer for `replicate_model_fn`: an Optimizer, or a function that returns one.

    There is one copy of the model, so this optimizer does as the given one.
    """

    def __init__(self, optimizer_or_optimizer_fn: Any) -> None:
        given = optimizer_or_optimizer_fn
        super().__init__(given if callable(given) else lambda: given, "TowerOptimizer")
