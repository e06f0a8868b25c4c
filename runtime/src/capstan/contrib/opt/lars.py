"""`LARSOptimizer` of `tf.contrib.opt` (contrib/opt/python/training/lars_optimizer.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import gather_ops, tensor_products
from capstan.framework import convert
from capstan.train import momentum as momentums
from capstan.train import updates


class LARSOptimizer(momentums.MomentumOptimizer):
    """Momentum with a learning rate of its own for each variable, for large batches.

    The learning rate is multiplied by eeta * |w| / (|g| + weight_decay * |w| + epsilon), with the
    norms of the variable w and of its gradient g, or by 1 if one of the norms is 0. The gradient
    becomes g + weight_decay * w (You, Gitman and Ginsburg, 2017). A variable whose name contains a
    string of `skip_list`, and a sparse gradient, get plain momentum.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        """Check the numbers.

        Raises:
            ValueError: `momentum` or `weight_decay` is negative.
        """
        for what, value in (("momentum", momentum), ("weight_decay", weight_decay)):
            if value < 0.0:
                raise ValueError(f"{what} must not be negative, but is {value}")
        super().__init__(learning_rate, momentum, name=name, use_nesterov=use_nesterov)
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skip_list = skip_list or ()

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """Return the learning rate of a variable, and its gradient with the weight decay."""
        rate = updates.like(self._learning_rate_tensor, var)
        if any(each in var.name for each in self._skip_list):
            return rate, grad
        weight, slope = tensor_products.norm(var, ord=2), tensor_products.norm(grad, ord=2)
        share = self._eeta * weight / (slope + self._weight_decay * weight + self._epsilon)
        one = convert.convert_to_tensor(1.0, var.dtype.base_dtype)
        ratio = gather_ops.where(weight > 0, gather_ops.where(slope > 0, share, one), one)
        return rate * ratio, grad + self._weight_decay * var

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        if len(grad) > 1:  # the rows of a sparse gradient, and their numbers
            return super()._applied(prefix, var, *grad)
        rate, slope = self.compute_lr(grad[0], var)
        return updates.update(
            prefix,
            "Momentum",
            [var, self.get_slot(var, "momentum")],
            convert.convert_to_tensor(1.0, var.dtype.base_dtype),
            slope * rate,
            updates.like(self._momentum_tensor, var),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )
