"""Batch renormalization (Ioffe, https://arxiv.org/abs/1702.03275), as in TensorFlow.

A batch is normalized by its own moments, and then corrected towards the moving averages of moments.
The corrections are constants of the gradient.
"""

from collections.abc import Mapping
from typing import Any

from capstan.api import array_ops, clip_ops, creation_ops, math_ops, smart_cond
from capstan.api.layers import averages
from capstan.framework import graph as graphs

KEYS = ("rmax", "rmin", "dmax")


def check(clipping: Mapping[str, Any]) -> None:
    """Raise ValueError if a key is unknown."""
    if set(clipping) - set(KEYS):
        raise ValueError(f"renorm_clipping {dict(clipping)} contains keys not in {list(KEYS)}")


def corrected(
    layer: Any, mean: Any, variance: Any, training: Any, momentum: Any
) -> tuple[Any, Any, Any, Any]:
    """Return the factor and the addend of a correction, and the moments.

    The moments depend on updates of the averages, which follow the correction.
    """
    graph = graphs.get_default_graph()
    deviation = math_ops.sqrt(variance + layer.epsilon)
    # The deviation is small early in the training.
    average = math_ops.maximum(layer.renorm_stddev, layer.epsilon**0.5)
    factor = deviation / average
    addend = (mean - layer.renorm_mean) / average
    with graph.control_dependencies([factor, addend]):
        pairs = (
            (layer.renorm_mean, array_ops.identity(mean)),
            (layer.renorm_stddev, array_ops.identity(deviation)),
        )
    limits = layer.renorm_clipping
    if limits.get("rmin") is not None:
        factor = math_ops.maximum(factor, limits["rmin"])
    if limits.get("rmax") is not None:
        factor = math_ops.minimum(factor, limits["rmax"])
    if limits.get("dmax") is not None:
        addend = clip_ops.clip_by_value(addend, -limits["dmax"], limits["dmax"])
    raw_factor, raw_addend = factor, addend
    factor = smart_cond.smart_cond(
        training, lambda: raw_factor, lambda: creation_ops.ones_like(raw_factor)
    )
    addend = smart_cond.smart_cond(
        training, lambda: raw_addend, lambda: creation_ops.zeros_like(raw_addend)
    )
    moved = [averages.moved(variable, value, momentum) for variable, value in pairs]
    with graph.control_dependencies(moved):
        moments = array_ops.identity(mean), array_ops.identity(variance)
    return array_ops.stop_gradient(factor), array_ops.stop_gradient(addend), *moments
