"""Table of the two restart limits."""

import pytest
from reconcile.world import task

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Restarts, TaskStatus
from capstan_operator.reconcile.policies import budget
from capstan_operator.reconcile.policies.failure import Failure, FailureClass, Fatal

POLICY = RunPolicy(backoff_limit=2, infrastructure_backoff_limit=3)
NO_MORE = "BackoffLimitExceeded"


@pytest.mark.parametrize(
    "kind, used, after",
    [
        *(
            (kind, (0, 3), (1, 3))
            for kind in FailureClass
            if kind.name in ("RETRYABLE", "PERMANENT")
        ),
        (FailureClass.COMPLETED, (0, 0), (0, 0)),
        (FailureClass.RETRYABLE, (1, 0), (2, 0)),
        (FailureClass.RETRYABLE, (2, 0), NO_MORE),
        (FailureClass.PERMANENT, (2, 0), NO_MORE),
        (FailureClass.COMPLETED, (2, 0), (2, 0)),
        (FailureClass.RETRYABLE, (5, 0), NO_MORE),
        (FailureClass.INFRASTRUCTURE, (2, 0), (2, 1)),
        (FailureClass.INFRASTRUCTURE, (0, 2), (0, 3)),
        (FailureClass.INFRASTRUCTURE, (0, 9), (0, 10)),
        (FailureClass.CREATE_FAILED, (2, 3), (2, 3)),
        (FailureClass.WITHDRAWN, (2, 3), (2, 3)),
    ],
)
def test_a_restart_is_charged_to_its_budget_or_is_the_end(
    kind: FailureClass, used: tuple[int, int], after: tuple[int, int] | str
) -> None:
    failed = Failure(task=task("worker-1"), attempt=1, kind=kind)
    restarts = Restarts(application=used[0], infrastructure=used[1])
    charged = budget.charge(POLICY, restarts, TaskStatus(name=task("worker-1")), failed)
    if isinstance(charged, Fatal):
        assert charged.reason == after
    else:
        assert (charged.application, charged.infrastructure) == after


@pytest.mark.parametrize("used, is_fatal", [(2, False), (3, True)])
def test_each_task_has_its_own_limit_for_the_infrastructure(used: int, is_fatal: bool) -> None:
    row = TaskStatus(name=task("worker-1"), infrastructure_restarts=used)
    failed = Failure(task=row.name, attempt=1, kind=FailureClass.INFRASTRUCTURE)
    charged = budget.charge(POLICY, Restarts(infrastructure=500), row, failed)
    assert isinstance(charged, Fatal) == is_fatal


@pytest.mark.parametrize(
    "kind, because",
    [
        (FailureClass.RETRYABLE, "spec.runPolicy.backoffLimit is 0"),
        (
            FailureClass.INFRASTRUCTURE,
            "spec.runPolicy.infrastructureBackoffLimit is 0 for each task",
        ),
    ],
)
def test_a_limit_of_0_allows_nothing_and_is_named(kind: FailureClass, because: str) -> None:
    policy = RunPolicy(backoff_limit=0, infrastructure_backoff_limit=0)
    failed = Failure(task=task("ps-0"), attempt=1, kind=kind)
    row = TaskStatus(name=failed.task)
    charged = budget.charge(policy, Restarts(), row, failed)
    assert charged == Fatal("BackoffLimitExceeded", because)
