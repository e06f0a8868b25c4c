"""Colours on a terminal."""

import os
import sys


def is_wanted() -> bool:
    """Say whether stdout is a terminal that shows colours, and the user has not refused them.

    See https://no-color.org.
    """
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    return sys.stdout.isatty() and not dumb and not os.environ.get("NO_COLOR")


def bold(text: str) -> str:
    """Return a text in bold letters."""
    return f"\x1b[1m{text}\x1b[0m"
