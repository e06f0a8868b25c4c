"""Make the output of programs fit for a status line: no control sequences, and not too long."""

import re
from collections.abc import Sequence

_CONTROL = re.compile(
    r"""
    (?: \x1b\[ | \x9b ) [0-?]* [ -/]* [@-~]?            # colours, cursor, modes (CSI)
    | \x1b [\]PX^_] .*? (?: \x07 | \x1b\\ | $ )         # titles, links, device strings
    | \x1b [ -/]* [0-~]?                                 # the short ones
    """,
    re.VERBOSE,
)
"""Control sequences of ECMA-48, also one that is cut off at the end of the text."""


def plain(line: str) -> str:
    """Return a line without control sequences. Other unprintable characters become blanks."""
    text = _CONTROL.sub("", line)
    return "".join(character if character.isprintable() else " " for character in text)


_INFO = re.compile(r"I\d{4} \d\d:|INFO\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+: I ")
"""The beginning of a line of level INFO: of absl, of Python's logging, of TensorFlow."""


def last_said(text: str, *, with_info: bool = True) -> str:
    """Return the last line of a log that is neither blank nor indented, or "" if all are blank.

    An indented line continues a line above it, so it is only returned if all lines are indented.
    Unless `with_info`, lines of level INFO do not count.
    """
    lines = [line for line in map(plain, text.splitlines()) if line.strip()]
    if not with_info:
        lines = [line for line in lines if not _INFO.match(line)]
    lines = [line for line in lines if not line[0].isspace()] or lines
    return " ".join(lines[-1].split()) if lines else ""


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first names for a sentence. For further names, the text gives only the number."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shortened(text: str, most: int) -> str:
    """Return at most `most` characters of a text. A text that was cut ends with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def shortened_inside(text: str, most: int) -> str:
    """Return at most `most` characters of a text: its beginning and its end.

    An ellipsis replaces the middle. A chain of errors, such as that of an image that cannot be
    pulled, begins with the object and ends with the cause.
    """
    if len(text) <= most:
        return text
    end = (most - 1) * 2 // 5
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
