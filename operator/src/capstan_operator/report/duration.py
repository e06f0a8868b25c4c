"""Durations as users read and write them."""

import re

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_PARTS = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII)
LONGEST_SECONDS = 366 * 86400.0
"""The longest duration: about a year. It can be subtracted from any current date."""


def parse(text: str) -> float:
    """Return the seconds of a duration. Raises ValueError for anything else.

    >>> parse("90"), parse("1h30m"), parse("0.5s")
    (90.0, 5400.0, 0.5)
    """
    found = _PARTS.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"must be a duration such as 90s, 10m or 1h30m, not {text!r}")
    seconds = sum(
        float(number or 0) * unit
        for number, unit in zip(found.groups(), _UNITS.values(), strict=True)
    )
    if seconds > LONGEST_SECONDS:
        raise ValueError(f"must be at most a year, not {text!r}")
    return seconds


def show(seconds: float) -> str:
    """Return a duration in its two largest units. A negative one counts as 0.

    >>> show(59.6), show(75), show(7200), show(93784)
    ('59s', '1m15s', '2h', '1d2h')
    """
    left = int(max(seconds, 0))
    parts: list[tuple[int, str]] = []
    for unit, size in _UNITS.items():
        count, left = divmod(left, size)
        if count or parts:
            parts.append((count, unit))
    shown = "".join(f"{count}{unit}" for count, unit in parts[:2] if count)
    return shown or "0s"
