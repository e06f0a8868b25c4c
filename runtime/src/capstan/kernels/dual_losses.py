"""The losses of stochastic dual coordinate ascent, one example at a time.

`updated(partitions, label, weight, dual, logit, norm)` returns the dual variable of an example that
increases the dual objective most. `primal` and `dual` are the two losses, `slope` is the derivative
of the primal loss, and `smoothness` its inverse Lipschitz constant. Labels of classes are -1 and 1.
Source: core/kernels/{logistic,squared,hinge,smooth-hinge,poisson}-loss.h.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_NEWTON_STEPS: Final = 10
_INFINITE: Final = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Loss:
    updated: Callable[[int, float, float, float, float, float], float]
    primal: Callable[[float, float, float], float]
    dual: Callable[[float, float, float], float]
    slope: Callable[[float, float], float]
    smoothness: float
    has_classes: bool = False
    has_counts: bool = False


def _logistic_update(
    partitions: int, label: float, weight: float, dual: float, logit: float, norm: float
) -> float:
    x, scale = 0.0, partitions * norm * weight
    for _ in range(_NEWTON_STEPS):
        t = math.tanh(x)
        value = -2 * label * x - logit - scale * (0.5 * (1 + t) / label - dual)
        x -= value / (-2 * label - scale * (1 - t * t) * 0.5 / label)
    return 0.5 * (1 + math.tanh(x)) / label


def _logistic_loss(logit: float, label: float, weight: float) -> float:
    margin = label * logit
    return (math.log1p(math.exp(-abs(margin))) + max(0.0, -margin)) * weight


def _logistic_dual(dual: float, label: float, weight: float) -> float:
    share = dual * label
    return sum(each * math.log(each) for each in (share, 1 - share) if each > 0) * weight


def _logistic_slope(logit: float, label: float) -> float:
    margin = label * logit
    if margin > 0:
        return -label * math.exp(-margin) / (1 + math.exp(-margin))
    return -label / (1 + math.exp(margin))


def _squared_update(
    partitions: int, label: float, weight: float, dual: float, logit: float, norm: float
) -> float:
    return dual + (label - dual - logit) / (1 + partitions * norm * weight)


def _hinge_update(
    partitions: int, label: float, weight: float, dual: float, logit: float, norm: float
) -> float:
    scale = partitions * weight * norm
    if not scale:
        return label if label > logit else 0.0
    return _clipped(dual + (label - logit) / scale, label)


def _smooth_hinge_update(
    partitions: int, label: float, weight: float, dual: float, logit: float, norm: float
) -> float:
    return _clipped(dual + (label - logit - dual) / (partitions * weight * norm + 1), label)


def _clipped(dual: float, label: float) -> float:
    if label * dual < 0:
        return 0.0
    return label if label * dual > 1 else dual


def _hinge_dual(dual: float, label: float, weight: float) -> float:
    share = dual * label
    return -share * weight if 0 <= share <= 1 else _INFINITE


def _smooth_hinge_dual(dual: float, label: float, weight: float) -> float:
    share = dual * label
    return (-share + 0.5 * dual * dual) * weight if 0 <= share <= 1 else _INFINITE


def _smooth_hinge_loss(logit: float, label: float, weight: float) -> float:
    margin = label * logit
    if margin >= 1:
        return 0.0
    return (0.5 - margin if margin <= 0 else (1 - margin) ** 2 / 2) * weight


def _smooth_hinge_slope(logit: float, label: float) -> float:
    margin = label * logit
    if margin >= 1:
        return 0.0
    return -label if margin <= 0 else logit - label


def _poisson_update(
    partitions: int, label: float, weight: float, dual: float, logit: float, norm: float
) -> float:
    x = math.log(label - dual) if label > dual else 0.0
    scale = partitions * norm * weight
    for _ in range(_NEWTON_STEPS):
        rate = math.exp(x)
        x -= (x - logit - scale * (label - dual - rate)) / (1 + scale * rate)
    return label - math.exp(x)


def _poisson_dual(dual: float, label: float, weight: float) -> float:
    rest = label - dual
    if rest < 0:
        return _INFINITE
    return rest * (math.log(rest) - 1) * weight if rest else 0.0


LOSSES: Final = {
    "logistic_loss": Loss(
        _logistic_update, _logistic_loss, _logistic_dual, _logistic_slope, 4.0, has_classes=True
    ),
    "squared_loss": Loss(
        _squared_update,
        lambda logit, label, weight: (logit - label) ** 2 * weight / 2,
        lambda dual, label, weight: dual * (0.5 * dual - label) * weight,
        lambda logit, label: logit - label,
        1.0,
    ),
    "hinge_loss": Loss(
        _hinge_update,
        lambda logit, label, weight: max(0.0, 1 - label * logit) * weight,
        _hinge_dual,
        lambda logit, label: -label if label * logit < 1 else 0.0,
        0.0,
        has_classes=True,
    ),
    "smooth_hinge_loss": Loss(
        _smooth_hinge_update,
        _smooth_hinge_loss,
        _smooth_hinge_dual,
        _smooth_hinge_slope,
        1.0,
        has_classes=True,
    ),
    "poisson_loss": Loss(
        _poisson_update,
        lambda logit, label, weight: (math.exp(logit) - logit * label) * weight,
        _poisson_dual,
        lambda logit, label: math.exp(logit) - label,
        1.0,
        has_counts=True,
    ),
}
"""The losses by the values of the attribute `loss_type`."""
