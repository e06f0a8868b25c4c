"""Table of the events that advance the epoch."""

import pytest
from reconcile.world import task

from capstan_operator.api.names import Uid
from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.policies import epoch
from capstan_operator.reconcile.policies.failure import Failure, FailureClass


def failed(name: str, kind: FailureClass = FailureClass.PERMANENT, reason: str = "") -> Failure:
    return Failure(task=task(name), attempt=1, kind=kind, reason=reason)


NODE_LOST = (FailureClass.INFRASTRUCTURE, "NodeLost")


@pytest.mark.parametrize(
    "failures, started_again, after",
    [
        ([], [], 3),
        *(([failed("ps-0", kind)], ["ps-0"], 4) for kind in FailureClass if kind.value < 5),
        ([failed("ps-0", FailureClass.CREATE_FAILED)], ["ps-0"], 3),
        ([failed("ps-0", FailureClass.WITHDRAWN)], ["ps-0"], 4),
        ([failed("ps-0")], [], 3),
        ([failed("ps-0")], ["ps-1"], 3),
        ([failed("ps-0"), failed("ps-1")], ["ps-0", "ps-1"], 4),
        *(([failed(name)], [name], 3) for name in ("chief-0", "worker-1", "evaluator-0")),
        *(([failed(name, *NODE_LOST)], [name], 4) for name in ("ps-0", "worker-1", "evaluator-0")),
        ([failed("worker-1", *NODE_LOST)], [], 4),
        ([failed("worker-0"), failed("worker-1", *NODE_LOST), failed("ps-0")], ["ps-0"], 4),
    ],
)
def test_the_epoch_advances_once_when_variables_or_a_node_are_lost(
    failures: list[Failure], started_again: list[str], after: int
) -> None:
    assert epoch.after_failures(3, failures, set(map(task, started_again))) == after


def test_the_epoch_advances_when_the_whole_job_restarts() -> None:
    assert epoch.after_job_restart(3) == 4


@pytest.mark.parametrize("uids, after", [([], 3), ([None], 3), ([None, "a"], 4), (["a", "b"], 4)])
def test_the_epoch_advances_over_a_suspension_if_any_attempt_had_begun(
    uids: list[str | None], after: int
) -> None:
    rows = [
        TaskStatus(name=task(f"worker-{index}"), uid=None if uid is None else Uid(uid))
        for index, uid in enumerate(uids)
    ]
    assert epoch.after_suspension(3, rows) == after
