"""`tf.train.experimental`: the scaling of losses for training with float16."""

import importlib
import sys
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
    """Return an optimizer, of `tf.train` or of Keras as `opt`, that scales the loss.

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
    if "capstan.keras" in sys.modules:
        # Keras is a layer above this one.
        keras = importlib.import_module("capstan.keras.mixed_precision.experimental")
        if isinstance(opt, keras.LossScaleOptimizer):
            raise ValueError(
                '"opt" must not already be an instance of a LossScaleOptimizer. '
                "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with "
                "a LossScaleOptimizer."
            )
        if isinstance(opt, importlib.import_module("capstan.keras.optimizers").Optimizer):
            return keras.LossScaleOptimizer(opt, loss_scale)
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
