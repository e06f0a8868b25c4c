"""Room on the stack of CPython for the calls of a compiled function.

CPython keeps the frames of Python functions in blocks of 16 KiB. If the frame of a function ends
near the end of a block, each of its calls maps a new block, and each return unmaps it. Such a call
takes about 10 us more, most of it in the kernel. For one depth of the stack in twelve, the calls of
a function do this, so a long segment takes several times as long in some programs, by chance.
"""

import types
from typing import Final

_SLOTS: Final = 3000
"""A frame of this size never fits into a block of 16 KiB, which has 2048 slots.

CPython then maps a block for the frame, with at least 1000 free slots. They hold the frames of some
thirty calls inside each other.
"""

_LONG: Final = 3000
_LONG_WITH_LOOPS: Final = 500
"""The bytes of code from which a function gets a block. They stand for about a hundred calls, or a
dozen in each iteration of a loop. A block costs about as much as one call at the end of a block.

The numbers are guesses.
"""


def with_room(code: types.CodeType, *, has_loops: bool) -> types.CodeType:
    """Return the code of a module in which each long function has a block for its frame.

    `has_loops` says whether the functions have loops.
    """
    constants = tuple(
        with_room(constant, has_loops=has_loops)
        if isinstance(constant, types.CodeType)
        else constant
        for constant in code.co_consts
    )
    is_long = len(code.co_code) > (_LONG_WITH_LOOPS if has_loops else _LONG)
    size = max(code.co_stacksize, _SLOTS - code.co_nlocals) if is_long else code.co_stacksize
    return code.replace(co_consts=constants, co_stacksize=size)
