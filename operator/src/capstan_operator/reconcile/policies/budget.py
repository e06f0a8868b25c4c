"""The two limits on restarts: for failures of the program and for failures of the infrastructure.

    failure                             charged to
    CREATE_FAILED, WITHDRAWN            nothing: no part of the task has run
    COMPLETED                           nothing: exit code 0 is not a failure, in Kubernetes either
    INFRASTRUCTURE                      infrastructureBackoffLimit, of the task
    RETRYABLE, PERMANENT                backoffLimit, of the job

A faulty program fails in every task, so its failures have one limit for the whole job. The more
tasks a job has, the more often it loses one with its node. Each task therefore has its own limit
for failures of the infrastructure: it ends a job with a task that no node can keep.

A restart is charged when it is decided. A charge is never refunded.
"""

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Restarts, TaskStatus
from capstan_operator.reconcile.policies.failure import Failure, FailureClass, Fatal


def charge(
    policy: RunPolicy, restarts: Restarts, row: TaskStatus, failure: Failure
) -> Restarts | Fatal:
    """Return `restarts` with `failure` charged, or Fatal if its limit is used up already.

    `row` is the row of the task that failed, before the failure.
    """
    match failure.kind:
        case FailureClass.CREATE_FAILED | FailureClass.WITHDRAWN | FailureClass.COMPLETED:
            return restarts
        case FailureClass.INFRASTRUCTURE:
            limit = policy.infrastructure_backoff_limit
            if row.infrastructure_restarts >= limit:
                return _exhausted("infrastructureBackoffLimit", f"{limit} for each task")
            return restarts.model_copy(update={"infrastructure": restarts.infrastructure + 1})
        case FailureClass.RETRYABLE | FailureClass.PERMANENT:
            if restarts.application >= policy.backoff_limit:
                return _exhausted("backoffLimit", str(policy.backoff_limit))
            return restarts.model_copy(update={"application": restarts.application + 1})


def _exhausted(field: str, limit: str) -> Fatal:
    return Fatal("BackoffLimitExceeded", f"spec.runPolicy.{field} is {limit}")
