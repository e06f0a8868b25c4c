"""Metrics of Keras that compare predictions with many thresholds (python/keras/metrics.py)."""

import enum
from typing import Any, Self

from capstan.api import creation_ops, gather_ops, logic_ops, math_ops, reduce_ops
from capstan.api.layers import settings
from capstan.keras.metrics import arguments, counts

_KINDS = ("true_positives", "true_negatives", "false_positives", "false_negatives")
_SENSITIVITY = ("true_positives", "false_negatives")
_SPECIFICITY = ("true_negatives", "false_positives")


class _AtRatio(counts.Counts):
    """A ratio at the threshold whose other ratio is closest to `value`."""

    kinds = _KINDS

    def __init__(
        self, value: float, num_thresholds: int, name: str | None, dtype: Any, argument: str
    ) -> None:
        if value < 0 or value > 1:
            raise ValueError(f"`{argument}` must be in the range [0, 1].")
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        super().__init__(name=name, dtype=dtype)
        self.value = value
        self.num_thresholds = num_thresholds
        self.thresholds = (
            [0.5] if num_thresholds == 1 else [0.0, *arguments.between(num_thresholds), 1.0]
        )
        self._add_counts()

    def _at(self, wanted: tuple[str, str], other: tuple[str, str]) -> Any:
        """Return the ratio `wanted` at the threshold whose ratio `other` is closest to `value`."""
        place = reduce_ops.argmin(math_ops.abs(self._share(*other) - self.value), axis=0)
        return gather_ops.gather(self._share(*wanted), place)


class SensitivityAtSpecificity(_AtRatio):
    """The share of true labels that are found, at the threshold for a given specificity."""

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        """Raises ValueError if the specificity is not in [0, 1], or there is no threshold."""
        super().__init__(specificity, num_thresholds, name, dtype, "specificity")
        self.specificity = specificity

    def result(self) -> Any:
        """Return the sensitivity of the batches so far."""
        return self._at(_SENSITIVITY, _SPECIFICITY)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        given = {"num_thresholds": self.num_thresholds, "specificity": self.specificity}
        return {**super().get_config(), **given}


class SpecificityAtSensitivity(_AtRatio):
    """The share of false labels that are not found, at the threshold for a given sensitivity."""

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        """Raises ValueError if the sensitivity is not in [0, 1], or there is no threshold."""
        super().__init__(sensitivity, num_thresholds, name, dtype, "sensitivity")
        self.sensitivity = sensitivity

    def result(self) -> Any:
        """Return the specificity of the batches so far."""
        return self._at(_SPECIFICITY, _SENSITIVITY)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        given = {"num_thresholds": self.num_thresholds, "sensitivity": self.sensitivity}
        return {**super().get_config(), **given}


class _Named(enum.Enum):
    """A choice that an argument names."""

    @classmethod
    def from_str(cls, key: Any) -> Self:
        """Return the choice with a name, in any case.

        Raises:
            ValueError: there is no such choice.
        """
        for choice in cls:
            if str(key).lower() == choice.value.lower():
                return choice
        raise ValueError(f'Invalid {cls.__doc__} value "{key}".')


class AUCCurve(_Named):
    """AUC curve"""

    ROC = "ROC"
    PR = "PR"


class AUCSummationMethod(_Named):
    """AUC summation method"""

    INTERPOLATION = "interpolation"
    MAJORING = "majoring"
    MINORING = "minoring"


class AUC(counts.Counts):
    """The area under a curve of ratios at thresholds, summed by trapezoids or by steps.

    `curve` is ROC, the share of true labels that are found over the share of false labels that are
    found, or PR, the precision over the recall. `summation_method` is interpolation, minoring (the
    lower of two heights), or majoring.
    """

    kinds = _KINDS

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: Any = "ROC",
        summation_method: Any = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
    ) -> None:
        """`thresholds` are used in the place of `num_thresholds` equal parts of [0, 1].

        Raises:
            ValueError: the curve or the method is unknown, or there is only one threshold.
        """
        if thresholds is not None:
            inner = sorted(thresholds)
            num_thresholds = len(inner) + 2
        elif num_thresholds <= 1:
            raise ValueError("`num_thresholds` must be > 1.")
        else:
            inner = arguments.between(num_thresholds)
        chosen = curve if isinstance(curve, AUCCurve) else AUCCurve.from_str(curve)
        method = (
            summation_method
            if isinstance(summation_method, AUCSummationMethod)
            else AUCSummationMethod.from_str(summation_method)
        )
        super().__init__(name=name, dtype=dtype)
        epsilon = settings.SETTINGS.epsilon
        self.num_thresholds = num_thresholds
        self.thresholds = [0.0 - epsilon, *inner, 1.0 + epsilon]
        self.curve, self.summation_method = chosen, method
        self._add_counts()

    def result(self) -> Any:
        """Return the area for the batches so far."""
        is_interpolated = self.summation_method is AUCSummationMethod.INTERPOLATION
        if self.curve is AUCCurve.PR and is_interpolated:
            return self.interpolate_pr_auc()
        recall = self._share(*_SENSITIVITY)
        if self.curve is AUCCurve.ROC:
            places, heights = self._share("false_positives", "true_negatives"), recall
        else:
            places, heights = recall, self._share("true_positives", "false_positives")
        first, second = heights[:-1], heights[1:]
        if is_interpolated:
            means = (first + second) / 2.0
        elif self.summation_method is AUCSummationMethod.MINORING:
            means = math_ops.minimum(first, second)
        else:
            means = math_ops.maximum(first, second)
        return reduce_ops.reduce_sum((places[:-1] - places[1:]) * means)

    def interpolate_pr_auc(self) -> Any:
        """Return the area under the precision, which is interpolated between thresholds.

        Davis and Goadrich, 2006, give the formula.
        """
        right = self.true_positives.value()
        found = right + self.false_positives
        gained, gained_found = right[:-1] - right[1:], found[:-1] - found[1:]
        slope = math_ops.div_no_nan(gained, math_ops.maximum(gained_found, 0))
        intercept = right[1:] - slope * found[1:]
        is_positive = logic_ops.logical_and(found[:-1] > 0, found[1:] > 0)
        ratio = gather_ops.where(
            is_positive,
            math_ops.div_no_nan(found[:-1], math_ops.maximum(found[1:], 0)),
            creation_ops.ones_like(found[1:]),
        )
        area = slope * (gained + intercept * math_ops.log(ratio))
        labels = math_ops.maximum(right[1:] + self.false_negatives[1:], 0)
        return reduce_ops.reduce_sum(math_ops.div_no_nan(area, labels))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        return {
            **super().get_config(),
            "num_thresholds": self.num_thresholds,
            "curve": self.curve.value,
            "summation_method": self.summation_method.value,
            "thresholds": self.thresholds[1:-1],
        }
