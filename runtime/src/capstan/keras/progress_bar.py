"""`tf.keras.utils.Progbar`: a bar that a program moves (python/keras/utils/generic_utils.py)."""

import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np


class Progbar:
    """A bar on the standard output for `target` units of work, or for a number that is unknown.

    `verbose` is 0 for no output, 1 for a bar of `width` characters, and 2 for one line at the end.
    Between two pictures are at least `interval` seconds. A value whose name is in
    `stateful_metrics` is shown as it is; the others are averages over the units. Threads must not
    share a bar.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.unit_name = unit_name
        self.stateful_metrics = set(stateful_metrics or ())
        self._sums: dict[str, tuple[Any, float]] = {}
        self._seen = 0
        self._shown_width = 0
        self._began, self._shown_at = time.monotonic(), 0.0

    def update(self, current: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Show that `current` units are done. `values` are those of the new units."""
        for name, value in values or ():
            if name in self.stateful_metrics:
                self._sums[name] = (value, 1)
            else:
                total, count = self._sums.get(name, (0, 0))
                units = current - self._seen
                self._sums[name] = (total + value * units, count + units)
        self._seen = current
        now = time.monotonic()
        is_last = self.target is not None and current >= self.target
        if self.verbose == 1:
            is_early = now - self._shown_at < self.interval
            if not is_early or self.target is None or is_last:
                self._show(current, now - self._began)
                self._shown_at = now
        elif self.verbose == 2 and is_last:
            done = f"{_padded(current, self.target)}/{self.target}"
            _write(f"{done} - {now - self._began:.0f}s{self._values(signed=True)}\n")

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Show that `n` more units are done."""
        self.update(self._seen + n, values)

    def _show(self, current: int, seconds: float) -> None:
        each = seconds / current if current else 0.0
        bar = f"{current:7d}/Unknown"
        info = f" - {seconds:.0f}s {_rate(each, self.unit_name)}"
        end = ""
        if self.target is not None:
            bar = f"{_padded(current, self.target)}/{self.target} [{self._bar(current)}]"
            if current < self.target:
                info = f" - ETA: {_duration(int(each * (self.target - current)))}"
            else:
                end = "\n"
        line = f"{bar}{info}{self._values()}"
        previous, self._shown_width = self._shown_width, len(line)
        _write("\b" * previous + f"\r{line.ljust(previous)}{end}")

    def _bar(self, current: int) -> str:
        target = self.target or 1
        full = int(self.width * current / target)
        head = ">" if current < target else "="
        return f"{'=' * (full - 1)}{head if full else ''}".ljust(self.width, ".")

    def _values(self, signed: bool = False) -> str:
        """Return the averages. With `signed`, negative ones have an exponent, as TensorFlow's."""
        text = ""
        for name, (total, count) in self._sums.items():
            mean = float(np.mean(total / max(1, count)))
            is_plain = (mean if signed else abs(mean)) > 1e-3
            text += f" - {name}: {mean:.4f}" if is_plain else f" - {name}: {mean:.4e}"
        return text


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _padded(current: int, target: int | None) -> str:
    return f"{current:{len(str(target))}d}"


def _rate(seconds: float, unit: str) -> str:
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s/{unit}"
    return f"{seconds * 1e3:.0f}ms/{unit}" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us/{unit}"


def _duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    if seconds > 3600:
        return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}" if seconds > 60 else f"{seconds}s"
