"""Suggest a known name for an unknown one."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean NAME?` with the closest known name; an empty text if none is close.

    >>> did_you_mean("agrs", ["args", "command"])
    '; did you mean args?'
    """
    # Sorted, so that the choice between two equally close names is always the same.
    folded = {known_name.casefold(): known_name for known_name in sorted(known)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[close[0]]}?" if close else ""
