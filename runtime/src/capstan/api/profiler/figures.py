"""The numbers of a profile, and how they are written (tfprof_utils.cc)."""

from collections.abc import Iterable, Mapping
from typing import Final

Figures = dict[str, int]
"""A number for each name in `KINDS`."""

KINDS: Final = (
    *("run_count", "exec_micros", "accelerator_exec_micros", "cpu_exec_micros"),
    *("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes"),
    *("parameters", "float_ops"),
)
MEMORY: Final = {
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
}
"""The kinds of memory: the name that users select, and the name of the figure."""
ORDERS: Final = {
    **MEMORY,
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
    "params": "parameters",
    "float_ops": "float_ops",
}
"""The figure by whose total an order of the user sorts. All other orders sort by name."""


def zeros() -> Figures:
    return dict.fromkeys(KINDS, 0)


def add(to: Figures, figures: Mapping[str, int]) -> None:
    """Add figures to those of `to`."""
    for kind, value in figures.items():
        to[kind] += value


def times(select: Iterable[str]) -> tuple[str, ...]:
    """Return the times to show, by the names of their figures."""
    if "micros" in select:
        return ("exec_micros", "accelerator_exec_micros", "cpu_exec_micros")
    chosen = ("accelerator_micros", "cpu_micros")
    return tuple(ORDERS[name] for name in chosen if name in select)


def number(value: int) -> str:
    return _scaled(value, "%d", ((1e3, 1e6, "k"), (1e6, 1e9, "m"), (1e9, float("inf"), "b")))


def duration(micros: int) -> str:
    return _scaled(micros, "%dus", ((1e3, 1e6, "ms"), (1e6, float("inf"), "sec")))


def memory(size: int) -> str:
    return _scaled(size, "%dB", ((1e3, 1e6, "KB"), (1e6, float("inf"), "MB")))


def _scaled(value: int, plain: str, units: Iterable[tuple[float, float, str]]) -> str:
    for unit, limit, name in units:
        if unit <= value < limit:
            return f"{value / unit:.2f}{name}"
    return plain % value
