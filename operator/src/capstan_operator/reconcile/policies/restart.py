"""The effect of a failure: `restartPolicy` decides whether another attempt may be made, and
`onFailure` decides what is restarted.

    restartPolicy   another attempt after
    Always          every end; exit code 0 too, unless the success policy waits for the task
    OnFailure       every failure
    ExitCode        every failure but a permanent one
    Never           no failure

    onFailure       if there may be another attempt      else
    RestartTask     of the task                          the job fails
    RestartJob      of all tasks                         the job fails
    FailJob         the job fails                        the job fails
    Ignore          none; the job goes on without the task, or fails if it needs the task

Three outcomes are not failures of the task and always lead to another attempt of it, whatever
`onFailure` says: exit code 0 under Always, a start that was refused (CREATE_FAILED), and a pod that
was deleted while a scheduling gate held it (WITHDRAWN).
"""

import enum

from capstan_operator.api.names import TaskName
from capstan_operator.api.replicas import OnFailure, RestartPolicy
from capstan_operator.api.spec import TrainingJob
from capstan_operator.reconcile.policies import success
from capstan_operator.reconcile.policies.failure import (
    HAS_NOT_RUN,
    Failure,
    FailureClass,
    Fatal,
    how,
)


class Scope(enum.Enum):
    """The tasks that are restarted."""

    NOTHING = enum.auto()
    TASK = enum.auto()
    JOB = enum.auto()


def may_end(job: TrainingJob, task: TaskName) -> bool:
    """Return True if exit code 0 means that the task is done."""
    always = job.replica(task.type).restart_policy is RestartPolicy.ALWAYS
    return not always or task in success.needed(job)


def decide(job: TrainingJob, failure: Failure) -> Scope | Fatal:
    """Return which tasks a failure restarts, or why it fails the job. `budget` has the limits."""
    if failure.kind in HAS_NOT_RUN or failure.kind is FailureClass.COMPLETED:
        return Scope.TASK
    kind, replica = failure.task.type, job.replica(failure.task.type)
    field = f"spec.replicaSpecs.{kind}"
    match replica.on_failure:
        case OnFailure.FAIL_JOB:
            return Fatal("FailJob", f"{field}.onFailure is FailJob")
        case OnFailure.IGNORE if failure.task in success.needed(job):
            return Fatal("NeededTaskFailed", f"the job cannot succeed without {failure.task}")
        case OnFailure.IGNORE:
            return Scope.NOTHING
        case OnFailure.RESTART_TASK | OnFailure.RESTART_JOB:
            pass
    if replica.restart_policy is RestartPolicy.NEVER:
        return Fatal("RestartPolicyNever", f"{field}.restartPolicy is Never")
    if replica.restart_policy is RestartPolicy.EXIT_CODE and failure.kind is FailureClass.PERMANENT:
        why = f"{field}.restartPolicy is ExitCode, which does not retry {how(failure)}"
        return Fatal("PermanentFailure", why)
    return Scope.JOB if replica.on_failure is OnFailure.RESTART_JOB else Scope.TASK
