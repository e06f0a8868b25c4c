"""The comparison of a metric's values, by which callbacks decide."""

import math
from typing import Any

from capstan.api import logging


class Monitor:
    """Compares the values of a metric. `mode` is min, max, or auto, which looks at the name."""

    def __init__(self, name: str, mode: str, min_delta: float = 0.0) -> None:
        if mode not in ("auto", "min", "max"):
            logging.warning("mode %s is unknown, fallback to auto mode.", mode)
            mode = "auto"
        grows = mode == "max" or (mode == "auto" and ("acc" in name or name.startswith("fmeasure")))
        self.name, self._sign, self._min_delta = name, 1 if grows else -1, abs(min_delta)
        self.worst = -self._sign * math.inf

    def is_better(self, value: float, best: float) -> bool:
        return self._sign * (value - best) > self._min_delta

    def value(self, logs: Any, who: str) -> float | None:
        """Return the value in the logs, or None after a warning."""
        found = (logs or {}).get(self.name)
        if found is None:
            logging.warning(
                "%s conditioned on metric `%s` which is not available. Available metrics are: %s",
                who,
                self.name,
                ",".join(logs or ()),
            )
        return found
