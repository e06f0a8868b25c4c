"""How many restarts a job may have: one limit for faults of the program, one for the machines'.

A restart is charged when it is decided; nothing ever gives it back. A task that could not be
started costs nothing: nothing of the job has run.
"""

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Restarts
from capstan_operator.reconcile.policies.failure import Failure, FailureClass, Fatal


def charge(policy: RunPolicy, restarts: Restarts, failure: Failure) -> Restarts | Fatal:
    """Return the restarts with one more for `failure`, or Fatal if its limit has been reached."""
    match failure.kind:
        case FailureClass.CREATE_FAILED:
            return restarts
        case FailureClass.INFRASTRUCTURE:
            limit, used = policy.infrastructure_backoff_limit, restarts.infrastructure
            if used >= limit:
                return _exhausted("infrastructureBackoffLimit", limit)
            return restarts.model_copy(update={"infrastructure": used + 1})
        case FailureClass.RETRYABLE | FailureClass.PERMANENT | FailureClass.COMPLETED:
            limit, used = policy.backoff_limit, restarts.application
            if used >= limit:
                return _exhausted("backoffLimit", limit)
            return restarts.model_copy(update={"application": used + 1})


def _exhausted(field: str, limit: int) -> Fatal:
    return Fatal("BackoffLimitExceeded", f"spec.runPolicy.{field} is {limit}")
