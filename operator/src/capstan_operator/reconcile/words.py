"""Texts fit to be shown: plain, where a program wrote for a terminal, and not too long."""

import re

_CONTROL = re.compile(
    r"""
    (?: \x1b\[ | \x9b ) [0-?]* [ -/]* [@-~]?            # colours, cursor, modes (CSI)
    | \x1b [\]PX^_] .*? (?: \x07 | \x1b\\ | $ )         # titles, links, device strings
    | \x1b [ -/]* [0-~]?                                 # the short ones
    """,
    re.VERBOSE,
)
"""Control sequences as ECMA-48 has them. One that is cut off at the end of the text counts."""


def plain(line: str) -> str:
    """Return a line without control sequences; what else cannot be printed becomes a blank."""
    text = _CONTROL.sub("", line)
    return "".join(character if character.isprintable() else " " for character in text)


def last_said(text: str) -> str:
    """Return the last line of a log that says something, on one line; empty if none does.

    What is indented belongs to a line above it, as the node does to the error of a step.
    """
    lines = [line for line in map(plain, text.splitlines()) if line.strip()]
    lines = [line for line in lines if not line[0].isspace()] or lines
    return " ".join(lines[-1].split()) if lines else ""


def shortened(text: str, most: int) -> str:
    """Return at most so many characters; an ellipsis stands for what is left out."""
    return text if len(text) <= most else text[: most - 1] + "…"
