"""`tf.contrib.learn.monitors`: functions around training steps, which became hooks later.

Source: contrib/learn/python/learn/monitors.py.
"""

import importlib
from typing import Any, Final

from capstan.api import logging
from capstan.api.absent import absent
from capstan.core import public
from capstan.train import (
    CheckpointSaverHook,
    NanTensorHook,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
)

_ELSEWHERE: Final = {
    "RunHookAdapterForMonitors": "capstan.contrib.learn.monitor_hooks",
    "ValidationMonitor": "capstan.contrib.learn.validation",
    "replace_monitors_with_hooks": "capstan.contrib.learn.monitor_hooks",
}
"""The modules of the other names of TensorFlow's module."""


class BaseMonitor:
    """A monitor that does nothing. Its methods are called in the thread that trains."""

    def __init__(self) -> None:
        self._estimator: Any = None
        self._max_steps: int | None = None
        self._current_epoch: int | None = None

    @property
    def run_on_all_workers(self) -> bool:
        """Whether the workers that are not the chief run the monitor too."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Called once with the estimator that trains."""
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Called at the start of training, while the graph can still grow."""
        self._max_steps = max_steps

    def end(self, session: Any = None) -> None:
        """Called at the end of training."""

    def epoch_begin(self, epoch: int) -> None:
        """Called by programs at the start of an epoch. As in TensorFlow, no estimator calls it.

        Raises:
            ValueError: an epoch has not ended, or the number is negative.
        """
        if self._current_epoch is not None:
            raise ValueError("epoch_begin called twice without epoch_end.")
        if epoch < 0:
            raise ValueError(f"Invalid epoch {epoch}.")
        self._current_epoch = epoch

    def epoch_end(self, epoch: int) -> None:
        """Called by programs at the end of an epoch.

        Raises:
            ValueError: another epoch has begun, or none.
        """
        if self._current_epoch != epoch:
            raise ValueError(f"epoch_end expected {self._current_epoch} but got {epoch}.")
        self._current_epoch = None

    def step_begin(self, step: int) -> list[Any]:
        """Called before a step. Return tensors, or their names, that the step also computes."""
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        """Called after a step with the values of its tensors. Return True to stop training."""
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Called after `step_end`."""


class EveryN(BaseMonitor):
    """A monitor of the first `first_n_steps` steps, and of one in every `every_n_steps`."""

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps = every_n_steps
        self._first_n_steps = first_n_steps
        self._last_active_step: int | None = None
        self._last_step: int | None = None
        self._is_active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Do as `step_begin` in the chosen steps."""
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        """Do as `step_end` in the chosen steps."""
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        """Do as `post_step` in the chosen steps, and after the last step."""

    def step_begin(self, step: int) -> list[Any]:
        last = self._last_active_step
        is_due = step <= self._first_n_steps or step >= self._every_n_steps + (last or 0)
        self._is_active = is_due or step == self._max_steps
        return self.every_n_step_begin(step) if self._is_active else []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        return self.every_n_step_end(step, output) if self._is_active else False

    def post_step(self, step: int, session: Any) -> None:
        self._last_step = step
        if self._is_active:
            self.every_n_post_step(step, session)
            self._last_active_step = step

    def end(self, session: Any = None) -> None:
        if self._last_step is not None and self._last_step != self._last_active_step:
            self.every_n_post_step(self._last_step, session)


class PrintTensor(EveryN):
    """Logs tensors. `tensor_names` is a dictionary of names by label, or a list of names."""

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        is_table = isinstance(tensor_names, dict)
        self._names = tensor_names if is_table else {name: name for name in tensor_names}

    def every_n_step_begin(self, step: int) -> list[Any]:
        return [*self._names.values()]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        texts = [f"{label} = {outputs[name]}" for label, name in sorted(self._names.items())]
        logging.info("Step %d: %s", step, ", ".join(texts))
        return False


class CaptureVariable(EveryN):
    """Keeps the values of a tensor, by step."""

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._name = var_name
        self._values: dict[int, Any] = {}

    @property
    def values(self) -> dict[int, Any]:
        return self._values

    def every_n_step_begin(self, step: int) -> list[Any]:
        return [self._name]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        self._values[step] = outputs[self._name]
        return False


def SummarySaver(
    summary_op: Any,
    save_steps: int = 100,
    output_dir: Any = None,
    summary_writer: Any = None,
    scaffold: Any = None,
) -> Any:
    """Return a hook that saves summaries."""
    return SummarySaverHook(save_steps, None, output_dir, summary_writer, scaffold, summary_op)


def CheckpointSaver(
    checkpoint_dir: str,
    save_secs: float | None = None,
    save_steps: int | None = None,
    saver: Any = None,
    checkpoint_basename: str = "model.ckpt",
    scaffold: Any = None,
) -> Any:
    """Return a hook that saves checkpoints."""
    return CheckpointSaverHook(
        checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold
    )


def NanLoss(loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True) -> Any:
    """Return a hook that ends the training if the loss is not a number, in any step."""
    return NanTensorHook(loss_tensor, fail_on_nan_loss)


def StopAtStep(num_steps: int | None = None, last_step: int | None = None) -> Any:
    """Return a hook that stops the training after a number of steps."""
    return StopAtStepHook(num_steps, last_step)


def StepCounter(
    every_n_steps: int = 100, output_dir: Any = None, summary_writer: Any = None
) -> Any:
    """Return a hook that measures the steps in a second."""
    return StepCounterHook(every_n_steps, None, output_dir, summary_writer)


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    raise absent("tf.contrib.learn.monitors", name)


def __dir__() -> list[str]:
    return sorted({*public.names(globals()), *_ELSEWHERE})
