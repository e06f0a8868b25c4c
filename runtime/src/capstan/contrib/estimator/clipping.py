"""`tf.contrib.estimator.clip_gradients_by_norm`: an optimizer that clips its gradients.

Source: tensorflow_estimator/contrib/estimator/python/estimator/extenders.py.
"""

from typing import Any

from capstan import train
from capstan.api import clip_ops
from capstan.contrib.estimator import wrapped


def clip_gradients_by_norm(optimizer: train.Optimizer, clip_norm: Any) -> train.Optimizer:
    """Return an optimizer that scales the gradients so that their global norm is at most a limit.

    It applies the gradients as `optimizer` does. `clip_norm` is a positive scalar.
    """
    return _Clipping(optimizer, clip_norm)


class _Clipping(wrapped.WrappedOptimizer):
    def __init__(self, optimizer: train.Optimizer, clip_norm: Any) -> None:
        super().__init__(lambda: optimizer, f"ClipByNorm{optimizer.get_name()}")
        self._clip_norm = clip_norm

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        gradients, variables = zip(*grads_and_vars, strict=True)
        clipped, _ = clip_ops.clip_by_global_norm(gradients, self._clip_norm)
        pairs = list(zip(clipped, variables, strict=True))
        return super().apply_gradients(pairs, global_step, name)
