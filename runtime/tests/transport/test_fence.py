"""Which calls of a task's attempts are admitted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan import errors
from capstan.transport import fence

WORKER = "/job:worker/replica:0/task:0"


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 4))))
def test_only_the_newest_attempt_of_each_task_is_admitted(calls: list[tuple[str, int]]) -> None:
    dropped: list[str] = []
    fenced = fence.Fence(dropped.append)
    newest: dict[str, int] = {}
    drops = []
    for task, attempt in calls:
        caller = fence.Caller(task, attempt)
        if attempt < newest.get(task, 0):
            with pytest.raises(errors.FailedPreconditionError):
                fenced.check(caller)
            continue
        fenced.check(caller)
        if attempt > newest.setdefault(task, attempt):
            drops.append(task)
        newest[task] = attempt
    assert dropped == drops


def test_a_replaced_process_learns_that_it_must_end() -> None:
    fenced = fence.Fence(lambda task: None)
    fenced.check(fence.Caller(WORKER, 3))
    with pytest.raises(errors.FailedPreconditionError) as caught:
        fenced.check(fence.Caller(WORKER, 1))
    assert caught.value.message == (
        "Attempt 1 of /job:worker/replica:0/task:0 was replaced: attempt 3 has called already. "
        "End this process"
    )


def test_a_process_that_no_launcher_started_is_admitted() -> None:
    fenced = fence.Fence(lambda task: None)
    fenced.check(fence.Caller(WORKER, 3))
    fenced.check(None)
