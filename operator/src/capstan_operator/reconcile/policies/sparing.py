"""The instances of a finished job that may still end by themselves, and for how long.

A stopped pod takes its logs with it, and the kubelet reports an end up to two seconds late. The
first match wins:

    the job     an instance that runs or has running sidecars    may end by itself
    any         a pod whose task has ended                       5 s after the end of the job
    any         the same, of an evaluator                        5 s after the end of the task
    Succeeded   an evaluator that runs                           evaluatorGracePeriodSeconds
    Succeeded   any pod, while a chief or worker still runs      5 s after the end of the job
    otherwise   a process or pod                                 no: it is stopped at once

An evaluator takes no part in the training. When the last trainer ends, it has yet to evaluate the
last checkpoint. It needs no other task for that. A process needs no time for its logs: its log is
a file that stays.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from capstan_operator.api.names import ReplicaType, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status
from capstan_operator.reconcile.observe import InstanceState, TaskPhase, TaskView

LIMIT = timedelta(seconds=5)


def spared(
    job: TrainingJob, status: Status, remaining: Collection[TaskView], now: datetime
) -> Mapping[Uid, datetime]:
    """Return which instances of a finished job may end by themselves for now, and until when.

    `remaining` are its instances that are ALIVE or have SIDECARS_RUN.
    """
    end = status.completion_time
    if end is None:
        return {}
    succeeded = status.phase is Phase.SUCCEEDED
    trains = succeeded and any(map(_trains, remaining))
    limits: dict[Uid, datetime] = {}
    for view in remaining:
        if view.pod and view.state is InstanceState.SIDECARS_RUN:
            limits[view.uid] = _latest(job, view, end) + LIMIT
        elif succeeded and evaluates(view):
            limits[view.uid] = end + _evaluation(job)
        elif trains:
            limits[view.uid] = end + LIMIT
    return {uid: limit for uid, limit in limits.items() if now < limit}


def evaluates(view: TaskView) -> bool:
    """Return whether the instance is an evaluator that runs and was not asked to end."""
    alive = view.state is InstanceState.ALIVE and view.phase is TaskPhase.RUNNING
    return alive and view.name.type is ReplicaType.EVALUATOR


def _latest(job: TrainingJob, view: TaskView, end: datetime) -> datetime:
    """Return when the job ended or, of an evaluator, when the task ended."""
    if view.name.type is not ReplicaType.EVALUATOR or view.finished_at is None:
        return end
    # The clock of the node may be wrong.
    return min(max(view.finished_at, end), end + _evaluation(job))


def _evaluation(job: TrainingJob) -> timedelta:
    return timedelta(seconds=job.spec.run_policy.evaluator_grace_period_seconds)


def _trains(view: TaskView) -> bool:
    """Return whether the instance is the pod of a chief or worker that has not ended."""
    trainers = (ReplicaType.CHIEF, ReplicaType.WORKER)
    return bool(view.pod) and view.state is InstanceState.ALIVE and view.name.type in trainers
