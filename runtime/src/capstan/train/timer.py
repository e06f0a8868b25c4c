"""A timer that tells a hook when its next interval of steps or seconds has passed."""

import time
from collections.abc import Callable


class SecondOrStepTimer:
    """Triggers every `every_steps` steps or every `every_secs` seconds, and on the first step.

    `clock` counts seconds. Not thread-safe.

    Raises:
        ValueError: both intervals are given, or neither is.
    """

    def __init__(
        self,
        every_secs: float | None = None,
        every_steps: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Forget the last trigger, so that the next step triggers."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether `step` is due. The step that triggered last is never due again."""
        if self._last_step is None or self._last_time is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return self._clock() >= self._last_time + self._every_secs
        return self._every_steps is not None and step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Record that `step` triggered. Return the seconds and steps since the last trigger.

        Both are None at the first trigger.
        """
        now = self._clock()
        elapsed = None if self._last_time is None else now - self._last_time
        steps = None if self._last_step is None else step - self._last_step
        self._last_step, self._last_time = step, now
        return elapsed, steps

    def last_triggered_step(self) -> int | None:
        return self._last_step


class NeverTriggerTimer(SecondOrStepTimer):
    """Never triggers, for hooks that act only at the end."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Record nothing. Return None, None."""
        return None, None
