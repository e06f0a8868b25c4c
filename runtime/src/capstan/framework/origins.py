"""Where a program creates an operation: the innermost frames of its call stack.

Frames of Capstan's own code are left out. A program creates many operations, so an origin holds
no frame, which would keep the variables of the program alive, and its lines are found late.
"""

import itertools
import pathlib
import sys
import traceback
from types import CodeType, FrameType

_KEPT = 5
"""So many frames show how a layer was called, and cost little in a deep stack."""

_PACKAGE = f"{pathlib.Path(__file__).parents[1]}/"

Origin = tuple[tuple[CodeType, int], ...]
"""The code of each frame and its last instruction, the innermost frame first."""


def here() -> Origin:
    """Return the innermost frames of this thread that are outside of Capstan."""
    found: list[tuple[CodeType, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < _KEPT:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            found.append((code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def summary(origin: Origin) -> traceback.StackSummary:
    """Return the frames as the standard library describes them, the innermost frame last."""
    return traceback.StackSummary.from_list(
        [(code.co_filename, _line(code, at), code.co_name, None) for code, at in reversed(origin)]
    )


def calls(origin: Origin) -> list[tuple[str, int, str, str, int]]:
    """Return file, line, function, text of the line and first line of the function of each frame.

    The innermost frame is last.
    """
    firsts = [code.co_firstlineno for code, _ in reversed(origin)]
    return [
        (frame.filename, frame.lineno or -1, frame.name, frame.line or "", first)
        for frame, first in zip(summary(origin), firsts, strict=True)
    ]


def _line(code: CodeType, at: int) -> int:
    position = next(itertools.islice(code.co_positions(), at // 2, None))
    return position[0] or code.co_firstlineno
