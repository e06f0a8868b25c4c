"""The time of an instance between SIGTERM and SIGKILL.

    why it is stopped          task                 seconds
    its node is lost           any                  0: deletion is forced, nothing there can end it
    the job is over            ps                   spec.runPolicy.psGracePeriodSeconds, at least 1
    the job has no such type   any                  Kubernetes' default, 30
    anything else              any                  its template's, at least 1

The minimum is 1, because 0 would remove the instance from the view at once, and its next attempt
would start beside it.
"""

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.template import DEFAULT_TERMINATION_GRACE_SECONDS
from capstan_operator.reconcile.actions import StopReason

FORCED = 0
SHORTEST = 1


def seconds(job: TrainingJob, task: TaskName, why: StopReason) -> float:
    """Return the grace period of a task that is stopped for this reason."""
    if why is StopReason.NODE_LOST:
        return FORCED
    return max(SHORTEST, _wanted(job, task, why))


def _wanted(job: TrainingJob, task: TaskName, why: StopReason) -> float:
    replica = job.spec.replica_specs.get(task.type)
    if replica is None:
        return DEFAULT_TERMINATION_GRACE_SECONDS
    if task.type is ReplicaType.PS and why is StopReason.JOB_OVER:
        return job.spec.run_policy.ps_grace_period_seconds
    return replica.template.spec.termination_grace_period_seconds
