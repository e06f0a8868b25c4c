"""The two limits on the restarts of a job: for program failures and for infrastructure failures.

    failure                             charged to
    CREATE_FAILED, WITHDRAWN            nothing: no part of the task has run
    COMPLETED                           nothing: exit code 0 is not a failure, in Kubernetes either
    INFRASTRUCTURE                      infrastructureBackoffLimit
    RETRYABLE, PERMANENT                backoffLimit

A restart is charged when it is decided. A charge is never refunded.
"""

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Restarts
from capstan_operator.reconcile.policies.failure import Failure, FailureClass, Fatal


def charge(policy: RunPolicy, restarts: Restarts, failure: Failure) -> Restarts | Fatal:
    """Return `restarts` with `failure` charged, or Fatal if its limit is used up already."""
    match failure.kind:
        case FailureClass.CREATE_FAILED | FailureClass.WITHDRAWN | FailureClass.COMPLETED:
            return restarts
        case FailureClass.INFRASTRUCTURE:
            limit, used = policy.infrastructure_backoff_limit, restarts.infrastructure
            if used >= limit:
                return _exhausted("infrastructureBackoffLimit", limit)
            return restarts.model_copy(update={"infrastructure": used + 1})
        case FailureClass.RETRYABLE | FailureClass.PERMANENT:
            limit, used = policy.backoff_limit, restarts.application
            if used >= limit:
                return _exhausted("backoffLimit", limit)
            return restarts.model_copy(update={"application": used + 1})


def _exhausted(field: str, limit: int) -> Fatal:
    return Fatal("BackoffLimitExceeded", f"spec.runPolicy.{field} is {limit}")
