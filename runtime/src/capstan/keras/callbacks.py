"""`tf.keras.callbacks`: functions that `fit` calls (python/keras/callbacks.py)."""

import csv
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.api.absent import absent
from capstan.api.layers.values import get_value as _get_value
from capstan.keras.model_checkpoint import ModelCheckpoint as ModelCheckpoint
from capstan.keras.remote_monitor import RemoteMonitor as RemoteMonitor
from capstan.keras.tensorboard import TensorBoard as TensorBoard
from capstan.keras.training import monitor as _monitor
from capstan.keras.training.callback import BaseLogger as BaseLogger
from capstan.keras.training.callback import Callback as Callback
from capstan.keras.training.callback import History as History
from capstan.keras.training.progress import ProgbarLogger as ProgbarLogger
from capstan.keras.training.progress import say as _say


class LambdaCallback(Callback):
    """Calls the functions that are given for the events."""

    def __init__(
        self,
        on_epoch_begin: Callable[[int, Any], Any] | None = None,
        on_epoch_end: Callable[[int, Any], Any] | None = None,
        on_batch_begin: Callable[[int, Any], Any] | None = None,
        on_batch_end: Callable[[int, Any], Any] | None = None,
        on_train_begin: Callable[[Any], Any] | None = None,
        on_train_end: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        given = {name: value for name, value in locals().items() if name.startswith("on_")}
        vars(self).update({name: value for name, value in given.items() if value is not None})


class TerminateOnNaN(Callback):
    """Ends the training when the loss is not a finite number."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            logging.warning("Batch %d: Invalid loss, terminating training", batch)
            self.model.stop_training = True


class EarlyStopping(Callback):
    """Ends the training when a metric is not better for more than `patience` epochs."""

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.baseline, self.restore_best_weights = baseline, restore_best_weights
        self._compare = _monitor.Monitor(monitor, mode, min_delta)
        self.wait = self.stopped_epoch = 0
        self.best = self._compare.worst
        self.best_weights: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait = self.stopped_epoch = 0
        self.best = self._compare.worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        value = self.get_monitor_value(logs)
        if value is None:
            return
        if self._compare.is_better(value, self.best):
            self.best, self.wait = value, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.restore_best_weights and self.best_weights is not None:
                self.model.set_weights(self.best_weights)

    def get_monitor_value(self, logs: Any) -> float | None:
        """Return the value of the metric in the logs, or None after a warning."""
        return self._compare.value(logs, "Early stopping")

    def on_train_end(self, logs: Any = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            _say(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class LearningRateScheduler(Callback):
    """Sets the learning rate of each epoch to `schedule(epoch, rate)` or `schedule(epoch)`."""

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Raises ValueError if the optimizer has no learning rate, or the rate is not a number."""
        if not hasattr(self.model.optimizer, "lr"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        try:
            rate = self.schedule(epoch, _learning_rate(self.model))
        except TypeError:  # a function of the epoch alone
            rate = self.schedule(epoch)
        if not isinstance(rate, float | np.floating):
            raise ValueError('The output of the "schedule" function should be float.')  # noqa: TRY004 - as Keras
        self.model.optimizer.lr = rate
        if self.verbose > 0:
            _say(
                f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}."
            )

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            logs["lr"] = _learning_rate(self.model)


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` after `patience` epochs without a better metric."""

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        *,
        epsilon: float | None = None,
    ) -> None:
        """`epsilon` is the older name of `min_delta`.

        Raises:
            ValueError: `factor` is not below 1.
        """
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        if epsilon is not None:
            logging.warning(
                "`epsilon` argument is deprecated and will be removed, use `min_delta` instead."
            )
            min_delta = epsilon
        self.min_delta = min_delta
        self.monitor, self.factor, self.patience = monitor, factor, patience
        self.verbose, self.cooldown, self.min_lr = verbose, cooldown, min_lr
        self._compare = _monitor.Monitor(monitor, mode, min_delta)
        self.wait = self.cooldown_counter = 0
        self.best = self._compare.worst

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait = self.cooldown_counter = 0
        self.best = self._compare.worst

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        rate = _learning_rate(self.model)
        if logs is not None:
            logs["lr"] = rate
        value = self._compare.value(logs, "Reduce LR on plateau")
        if value is None:
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._compare.is_better(value, self.best):
            self.best, self.wait = value, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and rate > self.min_lr:
                lower = max(rate * self.factor, self.min_lr)
                self.model.optimizer.lr = lower
                self.cooldown_counter, self.wait = self.cooldown, 0
                if self.verbose > 0:
                    _say(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to "
                          f"{lower}.")  # fmt: skip

    def in_cooldown(self) -> bool:
        """Return whether the epochs of `cooldown` after a reduction are not over."""
        return self.cooldown_counter > 0


def _learning_rate(model: Any) -> float:
    rate = model.optimizer.lr
    # The optimizer makes the variable when it is first read, so it may have no value yet.
    return float(_get_value(rate) if hasattr(rate, "eval") else rate)


class CSVLogger(Callback):
    """Writes the values of each epoch to a CSV file."""

    def __init__(self, filename: str | os.PathLike[str], separator: str = ",",
                 append: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.filename, self.sep, self.append = os.fspath(filename), separator, append
        self._keys: list[str] | None = None
        self._file: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        is_new = not (self.append and os.path.exists(self.filename))
        self._file = open(self.filename, "w" if is_new else "a", newline="")  # noqa: SIM115
        self._has_header = not is_new and os.path.getsize(self.filename) > 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        values = dict(logs or {})
        if self._keys is None:
            self._keys = sorted(values)
        writer = csv.DictWriter(self._file, ["epoch", *self._keys], delimiter=self.sep)
        if not self._has_header:
            writer.writeheader()
            self._has_header = True
        known = {key: values.get(key, "NA") for key in self._keys}
        writer.writerow({"epoch": epoch, **known})
        self._file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self._file.close()
        self._file = None


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.callbacks", name)
