"""The parts that tasks may still hold after they could not be reached."""

from collections.abc import Sequence
from typing import Any

import pytest

from capstan import errors
from capstan.services import registrations
from capstan.transport import interfaces


class Unsteady:
    """The worker of a task that cannot be reached for a while."""

    def __init__(self) -> None:
        self.is_up = False
        self.asked: list[tuple[str, Sequence[int]]] = []

    def deregister_graph(self, session: str, numbers: Sequence[int]) -> None:
        if not self.is_up:
            raise errors.UnavailableError(None, None, "connection refused")
        self.asked.append((session, numbers))


@pytest.mark.parametrize(
    "left, asked",
    [
        ([{2}], [2]),
        ([{2}, {1}], [1, 2]),
        ([{1, 2}, {2, 3}], [1, 2, 3]),
        # No numbers stand for all parts of the session.
        ([{1}, set()], []),
        ([set(), {1}], []),
        ([set()], []),
    ],
)
def test_a_task_that_answers_again_forgets_all_that_was_left_with_it_in_one_request(
    left: list[set[int]], asked: list[int]
) -> None:
    worker: Any = Unsteady()
    task = registrations.Task("/job:ps/task:0", worker, interfaces.WorkerStatus(1, ()))
    leftovers = registrations.Leftovers()
    for numbers in left:
        leftovers.deregister(task, "first", frozenset(numbers))
    leftovers.deregister(task, "second")
    leftovers.retry(task)  # the task still cannot be reached
    worker.is_up = True
    leftovers.retry(task)
    leftovers.retry(task)
    assert worker.asked == [("first", asked), ("second", [])]
