"""Learning rates that follow a cosine: the schedules of `tf.keras.experimental`
(python/keras/optimizer_v2/learning_rate_schedule.py).
"""

from typing import Any

from capstan import train
from capstan.keras.optimizers import schedule


class CosineDecay(schedule.Named):
    """A rate that falls from `initial_learning_rate` to its part `alpha` in `decay_steps` steps."""

    _arguments = ("initial_learning_rate", "decay_steps", "alpha", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha: Any = 0.0,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.alpha, self.name = alpha, name

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step, with the type of `initial_learning_rate`."""
        return train.cosine_decay(
            self.initial_learning_rate, step, self.decay_steps, self.alpha, self.name
        )


class CosineDecayRestarts(schedule.Named):
    """A cosine decay that starts again when it has ended.

    The first period has `first_decay_steps` steps. Each period is `t_mul` times as long as the
    period before, and starts at `m_mul` times its rate.
    """

    _arguments = ("initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: Any,
        t_mul: Any = 2.0,
        m_mul: Any = 1.0,
        alpha: Any = 0.0,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = first_decay_steps
        self.t_mul, self.m_mul, self.alpha, self.name = t_mul, m_mul, alpha, name

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step, with the type of `initial_learning_rate`."""
        return train.cosine_decay_restarts(
            self.initial_learning_rate, step, self.first_decay_steps, self.t_mul, self.m_mul,
            self.alpha, self.name,
        )  # fmt: skip


class LinearCosineDecay(schedule.Named):
    """The rate initial_learning_rate * ((alpha + linear decay) * cosine decay + beta)."""

    _arguments = (
        *("initial_learning_rate", "decay_steps", "num_periods", "alpha", "beta", "name"),
    )

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        num_periods: Any = 0.5,
        alpha: Any = 0.0,
        beta: Any = 0.001,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.num_periods, self.alpha, self.beta, self.name = num_periods, alpha, beta, name

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step, with the type of `initial_learning_rate`."""
        return train.linear_cosine_decay(
            self.initial_learning_rate, step, self.decay_steps, self.num_periods, self.alpha,
            self.beta, self.name,
        )  # fmt: skip


class NoisyLinearCosineDecay(schedule.Named):
    """A linear cosine decay with noise, whose variance falls as the steps grow."""

    _arguments = (
        *("initial_learning_rate", "decay_steps", "initial_variance", "variance_decay"),
        *("num_periods", "alpha", "beta", "name"),
    )

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        initial_variance: Any = 1.0,
        variance_decay: Any = 0.55,
        num_periods: Any = 0.5,
        alpha: Any = 0.0,
        beta: Any = 0.001,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.initial_variance, self.variance_decay = initial_variance, variance_decay
        self.num_periods, self.alpha, self.beta, self.name = num_periods, alpha, beta, name

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step, with the type of `initial_learning_rate`."""
        return train.noisy_linear_cosine_decay(
            self.initial_learning_rate, step, self.decay_steps, self.initial_variance,
            self.variance_decay, self.num_periods, self.alpha, self.beta, self.name,
        )  # fmt: skip


CLASSES = (CosineDecay, CosineDecayRestarts, LinearCosineDecay, NoisyLinearCosineDecay)
"""The classes that a configuration may name."""
