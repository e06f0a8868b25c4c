"""The order in which one thread can run a part by itself, waiting between the segments."""

from collections import deque
from collections.abc import Container
from dataclasses import dataclass

from capstan.executor import state


@dataclass(frozen=True, slots=True)
class Turn:
    """A segment, and whether the thread first waits for all nodes that it has started."""

    segment: int
    waits: bool


def of(layout: state.Layout, brief: Container[int] = ()) -> tuple[Turn, ...] | None:
    """Return the order of the segments, or None if one thread might hold up a segment.

    Whenever the thread waits, every segment that it can run next needs the answers of all nodes
    that the thread waits for. Otherwise the thread might wait for a node while an answer of
    another node lets a segment run. The nodes in `brief` may hold up a segment, because they answer
    soon.
    """
    steps = state.StepState(state.Plan(layout))
    turns: list[Turn] = []
    ready = deque(steps.start())
    pending: set[int] = set()
    waits = False
    while not steps.is_over:
        while ready:
            index = ready.popleft()
            turns.append(Turn(index, waits))
            waits = False
            pending.update(layout.starts[index])
            ready.extend(steps.finish(index))
        if not pending and not steps.is_over:
            return None  # A segment needs a message of another task.
        for waiting in pending:
            ready.extend(steps.answer(waiting))
        needs_all = all(pending.issubset(layout.awaits[index]) for index in ready)
        if not needs_all and not all(waiting in brief for waiting in pending):
            return None
        pending.clear()
        waits = True
    return tuple(turns)
