"""The callback that saves a model or its weights (python/keras/callbacks.py)."""

import os
import re
from typing import Any

from capstan.api import logging
from capstan.keras import network, weight_files
from capstan.keras.training import callback, progress
from capstan.keras.training import monitor as monitors
from capstan.train import checkpoint_state


class ModelCheckpoint(callback.Callback):
    """Saves the model by `save` after each epoch, or when `save_freq` examples are read.

    With `save_weights_only`, it calls `save_weights`. A file of a whole model is an HDF5 file.

    `filepath` may have the number of the epoch and the metrics in braces, such as
    `weights-{epoch:02d}-{val_loss:.2f}`. With `save_best_only`, the file is written only if
    `monitor` is better than in all epochs before.
    """

    def __init__(
        self,
        filepath: str | os.PathLike[str],
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        **kwargs: Any,
    ) -> None:
        """`kwargs` may have the older `period`, the number of epochs between two files, and
        `load_weights_on_restart`, to load the newest file before the training.

        Raises:
            ValueError: `save_freq` is neither "epoch" nor a number.
            TypeError: there is another argument.
        """
        super().__init__()
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        self.filepath, self.monitor, self.verbose = os.fspath(filepath), monitor, verbose
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.save_freq = save_freq
        self.period = kwargs.pop("period", 1)
        self.load_weights_on_restart = kwargs.pop("load_weights_on_restart", False)
        if kwargs:
            raise TypeError(f"ModelCheckpoint has no argument {min(kwargs)!r}")
        self._compare = monitors.Monitor(monitor, mode)
        self.best = self._compare.worst
        self.epochs_since_last_save = 0
        self._epoch = self._samples = 0

    def set_model(self, model: Any) -> None:
        """Save only the weights of a model that no configuration describes."""
        if isinstance(model, network.Model) and not model._is_described:
            self.save_weights_only = True
        super().set_model(model)

    def on_train_begin(self, logs: Any = None) -> None:
        path = _newest(self.filepath) if self.load_weights_on_restart else None
        if path is not None:
            self.model.load_weights(path)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.save_freq == "epoch":
            return
        self._samples += (logs or {}).get("size", 1)
        if self._samples >= self.save_freq:
            self._samples = 0
            self._save(logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch" and self.epochs_since_last_save >= self.period:
            self.epochs_since_last_save = 0
            self._save(logs)

    def _save(self, logs: Any) -> None:
        values = dict(logs or {})
        path = self._path(values)
        reason = f"saving model to {path}"
        if self.save_best_only:
            value = values.get(self.monitor)
            if value is None:
                logging.warning(
                    "Can save best model only with %s available, skipping.", self.monitor
                )
                return
            if not self._compare.is_better(value, self.best):
                self._report(f"{self.monitor} did not improve from {self.best:0.5f}")
                return
            reason = f"{self.monitor} improved from {self.best:0.5f} to {value:0.5f}, {reason}"
            self.best = value
        self._report(reason)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)

    def _path(self, values: dict[str, Any]) -> str:
        known = {"epoch": self._epoch + 1, **values}
        try:
            return self.filepath.format(**known)
        except KeyError as error:
            raise KeyError(
                f"Failed to format this callback filepath: {self.filepath!r}. There is no {error}, "
                f"but {', '.join(known)}"
            ) from None

    def _report(self, text: str) -> None:
        if self.verbose > 0:
            progress.say(f"\nEpoch {self._epoch + 1:05d}: {text}")


def _newest(filepath: str) -> str | None:
    """Return the newest checkpoint or HDF5 file whose name fits the pattern, or None."""
    folder, base = os.path.split(filepath)
    pattern = re.compile(".*".join(map(re.escape, re.split(r"{[^}]*}", base))))
    latest = checkpoint_state.latest_checkpoint(folder)
    if latest is not None and pattern.fullmatch(os.path.basename(latest)):
        return latest
    if not os.path.isdir(folder or "."):
        return None
    names = [
        name
        for name in os.listdir(folder or ".")
        if name.endswith(weight_files.HDF5_SUFFIXES) and pattern.fullmatch(name)
    ]
    paths = [os.path.join(folder, name) for name in names]
    return max(paths, key=lambda path: (os.path.getmtime(path), path), default=None)
