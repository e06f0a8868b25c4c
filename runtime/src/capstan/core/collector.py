"""Python's collector of reference cycles, and code that builds large structures.

The collector searches all objects again when their number has grown by a quarter. Compiling a graph
of ten thousand nodes makes a million objects that live on, so a fifth of its time are such
searches, which find nothing. The same holds for the gradients of such a graph.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Final

_MANY: Final = 2000
"""The nodes from which it pays to stop the collector. The number is a guess."""


@contextlib.contextmanager
def paused(nodes: int) -> Iterator[None]:
    """Stop the collector of the process while the `with` block handles many nodes.

    Cycles that other threads drop meanwhile are found afterwards. Thread-safe: if several threads
    are in such blocks, the collector runs again as soon as one of the blocks that stopped it ends.
    If it does not run, for example because the program has stopped it, nothing changes. If the
    program stops it during the block, it runs again after the block. In a process that another
    thread forks during the block, it stays stopped.
    """
    if nodes < _MANY or not gc.isenabled():
        yield
        return
    try:
        # A signal, for example of Ctrl-C, may raise its exception as soon as `disable` returns.
        gc.disable()
        yield
    finally:
        gc.enable()
