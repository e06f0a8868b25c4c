"""`tf.keras.optimizers.schedules`: learning rates that are functions of the step.

Source: tensorflow/python/keras/optimizer_v2/learning_rate_schedule.py.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import cond_ops, logic_ops, math_ops
from capstan.api.absent import absent
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.keras import objects
from capstan.keras.optimizers import cosine_schedules as _cosine_schedules
from capstan.keras.optimizers import schedule as _schedule
from capstan.keras.optimizers.schedule import LearningRateSchedule as LearningRateSchedule


class _Fraction(_schedule.Named):
    """A schedule of the share of `decay_steps` that the steps have reached."""

    _arguments = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        """With `staircase`, the quotient of step and `decay_steps` is an integer."""
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step, with the type of `initial_learning_rate`."""
        with graphs.get_default_graph().name_scope(self.name or type(self).__name__) as scope:
            rate = convert.convert_to_tensor(
                self.initial_learning_rate, name="initial_learning_rate"
            )
            steps, decay = (
                math_ops.cast(x, rate.dtype) for x in (self.decay_steps, self.decay_rate)
            )
            fraction = math_ops.cast(step, rate.dtype) / steps
            if self.staircase:
                fraction = math_ops.floor(fraction)
            return self._decayed(rate, decay, fraction, scope)

    def _decayed(self, rate: Any, decay: Any, fraction: Any, scope: str) -> Any:
        """Return the rate for the quotient of step and `decay_steps`. `scope` is its name."""
        raise NotImplementedError(f"{type(self).__name__} defines no rate")


class ExponentialDecay(_Fraction):
    """The rate initial_learning_rate * decay_rate ^ (step / decay_steps)."""

    def _decayed(self, rate: Any, decay: Any, fraction: Any, scope: str) -> Any:
        return math_ops.multiply(rate, math_ops.pow(decay, fraction), name=scope)


class InverseTimeDecay(_Fraction):
    """The rate initial_learning_rate / (1 + decay_rate * step / decay_steps)."""

    def _decayed(self, rate: Any, decay: Any, fraction: Any, scope: str) -> Any:
        one = math_ops.cast(convert.constant(1), rate.dtype)
        return math_ops.divide(rate, one + decay * fraction, name=scope)


class PiecewiseConstantDecay(_schedule.Named):
    """The rate values[i] for the first i with step <= boundaries[i], or else the last value."""

    _arguments = ("boundaries", "values", "name")

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        """Raises ValueError if there is not one value more than there are boundaries."""
        super().__init__()
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries = boundaries
        self.values = values
        self.name = name

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step, with the type of the values."""
        with graphs.get_default_graph().name_scope(self.name or "PiecewiseConstant"):
            rates = [convert.convert_to_tensor(value) for value in self.values]
            point = convert.convert_to_tensor(step)
            limits = [
                math_ops.cast(convert.convert_to_tensor(limit), point.dtype.base_dtype)
                for limit in self.boundaries
            ]
            cases = [
                (point <= limits[0], _always(rates[0])),
                (point > limits[-1], _always(rates[-1])),
            ]
            for low, high, rate in zip(limits[:-1], limits[1:], rates[1:-1], strict=True):
                is_between = logic_ops.logical_and(point > low, point <= high)
                cases.append((is_between, _always(rate)))
            # The cases are complete, so the default is never used, but TensorFlow's graph has one.
            return cond_ops.case(cases, _always(rates[0]), exclusive=True)


class PolynomialDecay(_schedule.Named):
    """A polynomial from `initial_learning_rate` to `end_learning_rate`, in `decay_steps` steps.

    With `cycle`, `decay_steps` is multiplied by the smallest integer that makes it at least as
    large as the step.
    """

    _arguments = (
        *("initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle", "name"),
    )

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        self.name = name

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step, with the type of `initial_learning_rate`."""
        with graphs.get_default_graph().name_scope(self.name or "PolynomialDecay") as scope:
            rate = convert.convert_to_tensor(
                self.initial_learning_rate, name="initial_learning_rate"
            )
            end, power, step, steps = (
                math_ops.cast(x, rate.dtype)
                for x in (self.end_learning_rate, self.power, step, self.decay_steps)
            )
            if self.cycle:
                steps = steps * _cycles(step, steps)
            else:
                step = math_ops.minimum(step, steps)
            left = math_ops.pow(1 - step / steps, power)
            return math_ops.add((rate - end) * left, end, name=scope)


def _cycles(step: Any, steps: Any) -> Any:
    one = math_ops.cast(1.0, step.dtype)
    is_first = logic_ops.equal(step, 0)
    return cond_ops.cond(is_first, lambda: one, lambda: math_ops.ceil(step / steps))


def _always(rate: Any) -> Callable[[], Any]:
    return lambda: rate


serialize = objects.serialize_keras_object
deserialize = objects.deserializer(
    "decay",
    lambda: {
        each.__name__: each
        for each in (
            *(ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay),
            *_cosine_schedules.CLASSES,
        )
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.optimizers.schedules", name)
