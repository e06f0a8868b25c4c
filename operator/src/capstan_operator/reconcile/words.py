"""Plain text of what a program wrote for a terminal."""

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
