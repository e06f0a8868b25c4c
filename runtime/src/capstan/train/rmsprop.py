"""`tf.train.RMSPropOptimizer`: a moving average of squared gradients scales each step.

Source: tensorflow/python/training/rmsprop.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import creation_ops, init_ops
from capstan.train import fused, updates


class RMSPropOptimizer(fused.FusedOptimizer):
    """RMSProp (Tieleman and Hinton, 2012). A sparse gradient changes only the rows that it names.

    The slots are `rms`, `momentum` and, if `centered`, `mg`, the average of the gradients.
    `centered` divides by the estimated variance of the gradient, not by its second moment.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            shape, dtype = var.get_shape(), var.dtype.base_dtype
            is_known = shape.is_fully_defined()
            ones = init_ops.Ones(dtype=dtype) if is_known else creation_ops.ones_like(var)
            self._get_or_make_slot_with_initializer(var, ones, shape, dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._numbers = tuple(
            updates.hyperparameter(value, name)
            for value, name in (
                (self._learning_rate, "learning_rate"),
                (self._decay, "decay"),
                (self._momentum, "momentum"),
                (self._epsilon, "epsilon"),
            )
        )

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        slots = ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
        return updates.update(
            prefix,
            "CenteredRMSProp" if self._centered else "RMSProp",
            [var, *(self.get_slot(var, name) for name in slots)],
            *(updates.like(number, var) for number in self._numbers),
            *grad,
            use_locking=self._use_locking,
        )
