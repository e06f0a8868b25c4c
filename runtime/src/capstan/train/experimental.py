"""`tf.train.experimental`: the scaling of losses for training with float16."""

from typing import Any

from capstan.api.absent import absent
from capstan.train import optimizer
from capstan.train.loss_scale import DynamicLossScale, FixedLossScale, LossScale
from capstan.train.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
    "disable_mixed_precision_graph_rewrite",
    "enable_mixed_precision_graph_rewrite",
]


def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """Return an optimizer that scales the loss.

    TensorFlow also computes parts of the graph in float16 on some GPUs. In Capstan, operations keep
    the types that the program gives them.

    Raises:
        ValueError: `opt` is not an Optimizer, or scales losses already.
    """
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(  # noqa: TRY004, as in TensorFlow
            '"opt" must not already be an instance of a MixedPrecisionLossScaleOptimizer. '
            "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a "
            "MixedPrecisionLossScaleOptimizer."
        )
    if not isinstance(opt, optimizer.Optimizer):
        raise ValueError(  # noqa: TRY004, as in TensorFlow
            '"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, '
            f"but got: {opt}"
        )
    return MixedPrecisionLossScaleOptimizer(opt, loss_scale)


def disable_mixed_precision_graph_rewrite() -> None:
    """Do nothing: no operation is computed in another type."""


def __getattr__(name: str) -> Any:
    raise absent("tf.train.experimental", name)
