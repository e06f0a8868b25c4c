"""Where the frames of compiled functions lie on the stack of CPython."""

import functools
import resource
import sys
from collections.abc import Callable
from typing import Any

import pytest

from capstan.executor import frames

CALLS = 300
BLOCK = 2048
"""The slots of a block of CPython's stack."""

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython" or not hasattr(resource, "RUSAGE_THREAD"),
    reason="only CPython on Linux has these blocks, and counts the page faults of a thread",
)


def called() -> None:
    """Stand for a kernel that is a Python function."""


def function(text: str, *, has_loops: bool) -> Callable[[], Any]:
    """Return the function `segment` of a module, compiled as parts are."""
    module: dict[str, Any] = {"called": called}
    exec(frames.with_room(compile(text, "part", "exec"), has_loops=has_loops), module)
    segment: Callable[[], Any] = module["segment"]
    return segment


def at_depth(slots: int) -> Callable[[Callable[[], Any]], Any]:
    """Return a function that calls another one when about `slots` more of a block are used."""

    def call(work: Callable[[], Any]) -> Any:
        return work()

    call.__code__ = call.__code__.replace(co_stacksize=slots)
    return call


def faults(work: Callable[[], Any]) -> int:
    """Return how many pages the kernel must give the thread while it runs `work`."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def most_faults(segment: Callable[[], Any]) -> int:
    """Return the most faults of `segment` at any depth of the stack.

    A frame has more than 8 slots, so some depth in steps of 8 leaves too few of them in a block.
    """
    return max(
        min(faults(functools.partial(at_depth(slots), segment)) for _ in range(2))
        for slots in range(1, BLOCK, 8)
    )


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("text", "has_loops"),
    [
        ("def segment():\n" + "    called()\n" * CALLS, False),
        (f"def segment():\n    for _ in range({CALLS}):\n" + "        called()\n" * 20, True),
    ],
)
def test_the_calls_of_a_long_function_map_no_memory_at_any_depth(
    text: str, has_loops: bool
) -> None:
    plain: dict[str, Any] = {"called": called}
    exec(text, plain)
    assert most_faults(plain["segment"]) >= CALLS  # else this Python needs no room
    assert most_faults(function(text, has_loops=has_loops)) < CALLS / 10


def test_a_short_function_gets_no_block() -> None:
    segment = function("def segment():\n    called()\n", has_loops=True)
    assert segment.__code__.co_stacksize < BLOCK


def test_errors_name_the_same_line_in_a_function_with_room() -> None:
    text = "def segment():\n" + "    called()\n" * CALLS + "    1 / 0\n"
    with pytest.raises(ZeroDivisionError) as caught:
        function(text, has_loops=False)()
    assert caught.tb.tb_next is not None
    assert caught.tb.tb_next.tb_lineno == CALLS + 2
