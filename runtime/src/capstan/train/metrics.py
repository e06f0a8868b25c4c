"""Metrics that hooks report: scalars by name, as they appear in the progress file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Reporter(Protocol):
    """A hook that reports metrics."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """The newest value of each metric, in the order in which they are shown."""
        ...


def scalars(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the entries that are finite real numbers.

    >>> scalars({"loss": np.float32(0.5), "images": np.zeros(3), "nan": float("nan")})
    {'loss': 0.5}
    """
    found = {}
    for name, value in values.items():
        array = np.asarray(value)
        if array.ndim == 0 and array.dtype.kind in "fiu" and np.isfinite(array):
            found[name] = array.item()
    return found


def merged(reporters: Iterable[Any]) -> dict[str, float]:
    """Return the metrics of all reporters. If two share a name, the later reporter's value wins."""
    found: dict[str, float] = {}
    for reporter in reporters:
        if isinstance(reporter, Reporter):
            found |= reporter.metrics
    return found


def labels(fetches: Any) -> Any:
    """Return the display name of each fetch, in the structure of `fetches`.

    A fetch in a dictionary has its key as its name. Any other fetch has the name of its tensor or
    operation, without a final `:0`.
    """
    if isinstance(fetches, Mapping):
        return {key: str(key) for key in fetches}
    if isinstance(fetches, Sequence) and not isinstance(fetches, str | bytes):
        return [labels(fetch) for fetch in fetches]
    name = fetches if isinstance(fetches, str) else getattr(fetches, "name", str(fetches))
    return name.removesuffix(":0")
