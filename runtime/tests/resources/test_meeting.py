"""Nodes of a step meet: the last one goes on for all, and a cancelled step waits no longer."""

from collections.abc import Sequence
from typing import Any

import pytest

from capstan import errors
from capstan.core import cancellation
from capstan.resources import meeting


class Node:
    """A node of a step that arrives, and what it is answered."""

    def __init__(self, met: meeting.Meeting, step: cancellation.Cancellation, value: int) -> None:
        self.answers: list[Any] = []
        arrival = meeting.Arrival(value, self._done)
        met.arrive(arrival, 2, step, _add)

    def _done(self, outputs: Sequence[Any], error: Any, give_back: Any = None, /) -> bool:
        self.answers.append(error or outputs)
        return True


def _add(arrivals: Sequence[meeting.Arrival]) -> None:
    total = sum(arrival.values for arrival in arrivals)
    if total < 0:
        raise ValueError("negative")
    for arrival in arrivals:
        arrival.done((total,), None)


def test_nodes_of_two_steps_meet_only_those_of_their_own_step() -> None:
    met = meeting.Meeting()
    steps = [cancellation.Cancellation() for _ in range(2)]
    first = [Node(met, step, 10**place) for place, step in enumerate(steps)]
    assert [node.answers for node in first] == [[], []]
    last = [Node(met, step, 5) for step in steps]
    assert [node.answers for node in (*first, *last)] == [[(6,)], [(15,)], [(6,)], [(15,)]]
    for step in steps:
        step.cancel(errors.CancelledError(None, None, "late"))
    assert [len(node.answers) for node in (*first, *last)] == [1, 1, 1, 1]


@pytest.mark.parametrize("is_early", [False, True])
def test_a_cancelled_step_answers_the_nodes_that_wait(is_early: bool) -> None:
    met, step = meeting.Meeting(), cancellation.Cancellation()
    over = errors.CancelledError(None, None, "over")
    if is_early:
        step.cancel(over)
    node = Node(met, step, 1)
    step.cancel(over)
    assert node.answers == [over]
    # The next step begins anew.
    again = cancellation.Cancellation()
    assert [Node(met, again, value).answers for value in (1, 2)] == [[(3,)]] * 2


def test_an_error_answers_all_nodes() -> None:
    met, step = meeting.Meeting(), cancellation.Cancellation()
    nodes = [Node(met, step, value) for value in (1, -2)]
    for node in nodes:
        (error,) = node.answers
        assert isinstance(error, errors.InternalError)
