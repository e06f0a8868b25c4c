"""Promises that every single pass keeps, whatever happened before."""

import json

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import Gang, TlsMode, TrainingJob
from capstan_operator.api.status import Phase, Status
from capstan_operator.manifests import pod
from capstan_operator.reconcile.actions import Plan, StartTask, StopReason, StopTask
from capstan_operator.reconcile.observe import SCHEDULING_GATED, Observed
from capstan_operator.reconcile.policies import gang, reporter
from capstan_operator.reconcile.policies.phase import ALIVE, TO_COME

TEMPLATE_GRACE_SECONDS = 30


def no_current_instance_is_stopped(decided: Plan, after: Status, observed: Observed) -> None:
    instances = {instance.uid: instance for instance in observed.tasks}
    rows = {row.name: row for row in after.tasks}
    for action in decided.actions:
        if isinstance(action, StopTask):
            row, instance = rows.get(action.task), instances[action.uid]
            assert row is None or not (
                instance.attempt == row.attempt and row.uid in (None, instance.uid)
            )


def each_stop_has_its_grace_period(job: TrainingJob, decided: Plan, after: Status) -> None:
    for action in decided.actions:
        if not isinstance(action, StopTask):
            continue
        assert (action.why is StopReason.JOB_OVER) <= after.phase.is_final
        assert (action.why is StopReason.SUSPENDED) <= (after.phase is Phase.SUSPENDED)
        seconds: float = TEMPLATE_GRACE_SECONDS
        if action.why is StopReason.NODE_LOST:
            seconds = 0
        elif action.why is StopReason.JOB_OVER and action.task.type is ReplicaType.PS:
            seconds = max(1, job.spec.run_policy.ps_grace_period_seconds)
        assert action.grace_seconds == seconds


def nothing_starts_unless_the_job_goes_on(decided: Plan, after: Status) -> None:
    if after.phase.is_final or after.phase is Phase.SUSPENDED:
        assert not [action for action in decided.actions if isinstance(action, StartTask)]


def parameter_servers_are_suspended_last(
    job: TrainingJob, decided: Plan, observed: Observed
) -> None:
    """Check the order of a suspension: workers, then the task that saves, then the ps."""
    running = {instance.name for instance in observed.tasks if not instance.has_ended}
    for action in decided.actions:
        if isinstance(action, StopTask) and action.why is StopReason.SUSPENDED:
            first = {task for task in running if _rank(job, task) < _rank(job, action.task)}
            assert not first, f"{action.task} is stopped before {first}"


def _rank(job: TrainingJob, task: TaskName) -> int:
    return 2 if task.type is ReplicaType.PS else int(task == reporter.of(job))


def the_job_is_queued_only_while_a_pod_waits(
    job: TrainingJob, after: Status, observed: Observed
) -> None:
    uids = {
        instance.uid
        for instance in observed.tasks
        if instance.reason == SCHEDULING_GATED and not instance.has_ended
    }
    waits = any(row.uid in uids for row in after.tasks)
    runs = any(row.state in ALIVE for row in after.tasks)
    has_queue = job.spec.scheduling.queue_name is not None
    assert (after.phase is Phase.QUEUED) == (has_queue and waits and not runs)
    assert after.phase is not Phase.QUEUED or after.pending_since is None


def a_gang_is_of_tasks_that_are_to_come(job: TrainingJob, after: Status) -> None:
    wanted = job.spec.scheduling
    size = gang.size(job, after)
    is_alone = wanted.gang is Gang.NONE or (wanted.gang, wanted.queue_name) == (
        Gang.AUTO,
        "training",
    )
    coming = sum(row.state in TO_COME for row in after.tasks)
    if is_alone or any(row.state in ALIVE for row in after.tasks):
        assert size is None
    elif size is not None:
        assert 2 <= size <= coming
    else:
        assert coming < 2 or _is_elastic(job)


def _is_elastic(job: TrainingJob) -> bool:
    worker = job.spec.replica_specs.worker
    return worker is not None and worker.min_replicas is not None


def workers_that_were_removed_count_nowhere(job: TrainingJob, after: Status) -> None:
    assert tuple(row.name for row in after.tasks) == job.tasks()
    for kind, replica in job.spec.replica_specs.items():
        counted = after.replica_statuses.get(kind)
        assert (0 if counted is None else counted.desired) == replica.replicas
    for task in after.removed:
        assert task not in job.tasks()


def each_started_pod_fits_its_job(job: TrainingJob, decided: Plan) -> None:
    """Check the fields of pods that follow from the spec as it is now and from the plan."""
    starts = [action for action in decided.actions if isinstance(action, StartTask)]
    environment = pod.environment(job)
    for start in starts:
        attempt, epoch = start.attempt, start.epoch
        made = pod.pod(job, start.task, environment, attempt=attempt, epoch=epoch)
        labels, spec = made["metadata"]["labels"], made["spec"]
        shown = (labels[names.LABEL_ATTEMPT], labels[names.LABEL_EPOCH])
        assert shown == (str(attempt), str(epoch))
        claims = [volume.get("persistentVolumeClaim") for volume in spec["volumes"]]
        claim = {"claimName": "digits-checkpoints"}
        assert (claim in claims) == (job.spec.checkpoint is not None)
        is_one_of_many = (
            start.task.type is ReplicaType.PS and job.replica(start.task.type).replicas > 1
        )
        assert ("affinity" in spec) == (
            is_one_of_many and job.spec.scheduling.spread_parameter_servers
        )
        [container] = spec["containers"]
        variables = {variable["name"]: variable["value"] for variable in container["env"]}
        cluster = json.loads(variables["TF_CONFIG"])["cluster"]
        assert len(cluster["worker"]) == job.replica(ReplicaType.WORKER).replicas
        is_mutual = job.spec.cluster.tls.mode is TlsMode.MUTUAL
        assert ("CAPSTAN_TLS_DIR" in variables) == is_mutual
