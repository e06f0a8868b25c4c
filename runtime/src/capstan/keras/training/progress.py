"""The progress that `fit`, `evaluate` and `predict` print.

It is a bar on a terminal, and otherwise a line for each epoch or pass.
"""

import sys
import time
from typing import Any

import numpy as np

from capstan.keras.training import callback

_EVERY_S = 0.1
_WIDTH = 30


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


class ProgbarLogger(callback.Callback):
    """Prints the progress of a training. `verbose=2` prints a line for each epoch.

    So does `verbose=1`, if the output is not a terminal.
    """

    def __init__(self, count_mode: str = "samples", stateful_metrics: Any = None) -> None:
        super().__init__()
        self._counts_steps = count_mode == "steps"
        self._began = self._shown = 0.0
        self._seen = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._began, self._shown, self._seen = time.monotonic(), 0.0, 0
        if self.params["verbose"] and self.params["epochs"] > 1:
            say(f"Epoch {epoch + 1}/{self.params['epochs']}")

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        values = dict(logs or {})
        self._seen += 1 if self._counts_steps else values.get("size", 0)
        now = time.monotonic()
        if self._is_live and now - self._shown >= _EVERY_S:
            self._shown = now
            sys.stdout.write(f"\r{self._bar()} - {_values(values)}\x1b[K")
            sys.stdout.flush()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if not self.params["verbose"]:
            return
        seconds = time.monotonic() - self._began
        start = "\r" if self._is_live else ""
        end = "\x1b[K\n" if self._is_live else "\n"
        parts = (f"{self._seen}/{self._seen}", f"{seconds:.0f}s", _values(dict(logs or {})))
        sys.stdout.write(f"{start}{' - '.join(part for part in parts if part)}{end}")
        sys.stdout.flush()

    @property
    def _is_live(self) -> bool:
        return self.params["verbose"] == 1 and sys.stdout.isatty()

    def _bar(self) -> str:
        return _bar(self._seen, self.params["steps" if self._counts_steps else "samples"])


class PassLogger(callback.Callback):
    """Prints the progress of `evaluate` or `predict` if `verbose` is 1: a bar, and then a line.

    There is no bar if the output is not a terminal.
    """

    def __init__(self, samples: int | None, steps: int | None, verbose: int) -> None:
        super().__init__()
        self._counts_steps, self._is_shown = samples is None, verbose == 1
        self._total = steps if samples is None else samples
        self._began = self._shown = time.monotonic()
        self._seen = 0

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        values = dict(logs or {})
        self._seen += 1 if self._counts_steps else values.get("size", 0)
        now = time.monotonic()
        if self._is_shown and sys.stdout.isatty() and now - self._shown >= _EVERY_S:
            self._shown = now
            parts = (_bar(self._seen, self._total), _values(values))
            sys.stdout.write(f"\r{' - '.join(part for part in parts if part)}\x1b[K")
            sys.stdout.flush()

    on_predict_batch_end = on_test_batch_end

    def end(self, values: dict[str, Any]) -> None:
        """Print the line of the whole pass."""
        if not self._is_shown:
            return
        seconds = time.monotonic() - self._began
        start, end = ("\r", "\x1b[K\n") if sys.stdout.isatty() else ("", "\n")
        parts = (f"{self._seen}/{self._seen}", f"{seconds:.0f}s", _values(values))
        sys.stdout.write(f"{start}{' - '.join(part for part in parts if part)}{end}")
        sys.stdout.flush()


def _bar(seen: int, total: int | None) -> str:
    if not total:
        return f"{seen}/Unknown"
    full = min(_WIDTH * seen // total, _WIDTH)
    return f"{seen}/{total} [{'=' * full}{'.' * (_WIDTH - full)}]"


def _values(logs: dict[str, Any]) -> str:
    shown = {name: value for name, value in logs.items() if name not in ("batch", "size")}
    return " - ".join(f"{name}: {_number(float(np.mean(value)))}" for name, value in shown.items())


def _number(value: float) -> str:
    """Return a number as Keras shows it. A small number keeps its digits.

    >>> _number(0.25), _number(0.000012345), _number(0.0)
    ('0.2500', '1.2345e-05', '0.0000e+00')
    """
    return f"{value:.4f}" if abs(value) > 1e-3 else f"{value:.4e}"
