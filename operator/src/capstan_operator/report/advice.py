"""Advice for the user of a job: the next thing to do about its state.

The first rule that fits the whole job gives the first line. Each task that waits, and the last
failure, may add a line. Each line is a sentence that a user can act on.
"""

from collections.abc import Iterator, Mapping

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.status import Condition, ConditionType, Phase, TaskState, TaskStatus
from capstan_operator.reconcile import observe, rows
from capstan_operator.reconcile.policies import alike, failure, trouble
from capstan_operator.reconcile.policies.trouble import Trouble
from capstan_operator.report import refusals
from capstan_operator.report.failures import LastFailure
from capstan_operator.report.job import Job

_NOTHING = "Nothing."

_TROUBLES = {
    Trouble.IMAGE: "Check the name of the image, the connection to its registry, and the pull "
    "secrets",
    Trouble.NODE: "Free or add nodes, let the tasks request less, or correct nodeSelector, "
    "affinity or tolerations. The events say what each node lacks",
    Trouble.CONFIG: "Create the Secret, ConfigMap or key that the message names, or correct the "
    "security context",
    Trouble.START: "Check the command, the mounts and the security context of the container",
    Trouble.SIDECAR: "Correct the sidecar that the message names, or its startup probe",
}

_VOLUME = "Create the claim that the message names, or find out why it has no volume"
_CANNOT_RUN = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of container runtimes for a container whose command could not be started."""

_KILLED = 137
"""The exit code after SIGKILL."""

_NOT_OF_THE_PROGRAM = failure.INFRASTRUCTURE_REASONS | {failure.DELETED, failure.LOST}

_CONDITIONS = {
    observe.NAME_CONFLICT: "Delete or rename the object that has the name, or choose another name "
    "for the job.",
    observe.SERVICE_MISSING: "Change the quota, policy or webhook that the message names: it keeps "
    "the operator from creating the job's Service. The operator tries again.",
    observe.SERVICE_CHANGED: "Delete the job's Service, and the operator makes it again. If this "
    "lasts, find out which program changes it.",
    observe.NETWORK_POLICY_MISSING: "Let the operator create NetworkPolicies, or change the quota, "
    "policy or webhook that the message names. The operator tries again.",
    observe.VOLUME_CLAIM_MISSING: "If the claim is being deleted, suspend the job until no task "
    "uses it. Otherwise let the operator create PersistentVolumeClaims, or change the quota, "
    "policy or webhook that the message names. The operator tries again.",
    observe.CERTIFICATES_MISSING: "Let the operator read and write Secrets (rbac.secrets in its "
    "chart), or change the quota, policy or webhook that the message names. The operator tries "
    "again.",
    observe.TEMPLATE_UNCHECKED: "Nothing, if the job starts soon. If this lasts, repair the webhook"
    " that does not answer: kubectl get mutatingwebhookconfigurations,"
    "validatingwebhookconfigurations.",
    observe.GANG_UNAVAILABLE: "Install the scheduler that spec.scheduling.gang names, or delete "
    "the job and submit it with another gang.",
    Phase.QUEUED.value: "Nothing, if the queue is busy. What Kueue waits for: kubectl describe "
    "workloads. Without Kueue, delete the job and submit it without spec.scheduling.queueName.",
    observe.WAITING_FOR_OLD_PODS: "Nothing: the job starts when the pods of the old job are gone. "
    "If this lasts, a finalizer or a lost node holds them.",
}

_BLOCKED = (
    "If the logs show new steps, a network policy may keep the operator from asking the task that "
    "reports them."
)

_FINAL = {
    "BackoffLimitExceeded": "Remove the cause, or raise the limit that the message names",
    "DeadlineExceeded": "Remove the cause, or raise the deadline that the message names",
    "FailJob": "Remove the cause of the failure, or choose another onFailure",
    "NeededTaskFailed": "Remove the cause of the failure",
    "RestartPolicyNever": "Remove the cause of the failure, or choose another restartPolicy",
    "PermanentFailure": "Remove the cause of the failure, or choose another restartPolicy",
}


def advice(job: Job, failed: LastFailure | None, *, is_quiet: bool) -> tuple[str, ...]:
    """Return what the user can do, one sentence each, the most important first.

    `is_quiet` says that the job runs and shows no new step for long.
    """
    lines = [*_of_job(job), *(_of_silence(job) if is_quiet else ()), *_of_tasks(job)]
    if not job.is_over or job.status.phase is Phase.FAILED:
        lines += _of_failure(job, failed)
    if job.claim and any(job.command("delete") in line for line in lines):
        lines.append(_keeping_checkpoints(job))
    return tuple(dict.fromkeys(lines)) or (_NOTHING,)


def _keeping_checkpoints(job: Job) -> str:
    patch = """'{"metadata":{"ownerReferences":null}}'"""
    return (
        f"The deletion of the job deletes its claim {job.claim} with the checkpoints. To keep "
        f"them, first run: kubectl patch pvc {job.claim}{job.flags} --type=merge -p {patch}. Then "
        "name the claim in spec.checkpoint.existingClaim of the next job."
    )


def _of_job(job: Job) -> Iterator[str]:
    conditions = {condition.type: condition for condition in job.status.conditions}
    if job.is_deleted and job.held_by_finalizers:
        yield (
            "Find out why the programs that set the finalizers do not remove them. The job is gone "
            f"when they have. To wait: {job.command('wait')} --for deleted"
        )
    elif job.is_deleted:
        yield f"Nothing: the job is being deleted. To wait: {job.command('wait')} --for deleted"
    elif job.manager != names.MANAGER:
        yield f"Nothing: {job.manager} runs the job, as spec.managedBy says."
    elif not job.is_local and (not job.is_observed or job.is_behind):
        yield (
            "Check whether the operator runs and serves the namespace: kubectl get deployments -A "
            f"-l {names.OPERATOR_SELECTOR}"
        )
    elif job.is_local and not job.is_run and not job.is_over:
        yield "Run the job again, and it continues: capstanctl run JOB.yaml"
    elif job.status.phase is Phase.INVALID:
        yield from _of_invalid_spec(job)
    elif job.status.phase is Phase.FAILED:
        yield _after_failure(job, conditions.get("Failed"))
    else:
        yield from _of_conditions(conditions)
        yield from _of_ended_servers(job)
        if job.status.phase is Phase.RUNNING and job.status.progress is None:
            yield f"If it should train by now, read what the tasks wrote: {job.command('logs')}"
            if not job.is_local:
                yield _BLOCKED


def _of_invalid_spec(job: Job) -> Iterator[str]:
    if rows.has_started(job.status):
        yield (
            "If the number of workers was changed, set it back, because tasks that end are not "
            f"started again meanwhile: kubectl scale tjob {job.name}{job.flags} --replicas=N"
        )
    yield f"Delete the job ({job.command('delete')}), correct its file, and submit it again."


def _of_silence(job: Job) -> Iterator[str]:
    """Yield what to do about a job whose tasks all run, but which seems to stand still."""
    if job.is_deleted or job.manager != names.MANAGER:
        return
    yield f"If it should train, read what the tasks wrote: {job.command('logs')}"
    if not job.is_local:
        yield _BLOCKED
    if not job.is_local and job.run_policy.progress_deadline_seconds is None:
        yield (
            "To restart a job that stands still, set spec.runPolicy.progressDeadlineSeconds. It "
            "may be set while the job runs."
        )


def _of_ended_servers(job: Job) -> Iterator[str]:
    """Yield what to do about a parameter server that has ended while other tasks run."""
    ended = (row for row in job.status.tasks if row.state is TaskState.SUCCEEDED)
    server = next((row.name for row in ended if row.name.type is ReplicaType.PS), None)
    if job.status.phase is Phase.RUNNING and server is not None:
        yield (
            f"{server} ended with exit code 0. If the workers still need its variables, its "
            "program must wait for the end of the training, for example in server.join()."
        )


def _of_conditions(conditions: Mapping[ConditionType, Condition]) -> Iterator[str]:
    if "Suspended" in conditions:
        yield "To continue the job, set spec.suspend to false."
    conflict = conditions.get("NameConflict")
    ready = conditions.get("ClusterReady")
    if conflict is not None and conflict.status == "True":
        yield _CONDITIONS[observe.NAME_CONFLICT]
    elif ready is not None and ready.status == "False" and ready.reason in _CONDITIONS:
        yield _CONDITIONS[ready.reason]


def _after_failure(job: Job, condition: Condition | None) -> str:
    reason = "" if condition is None else condition.reason
    first = _FINAL.get(reason, "Remove the cause of the failure")
    if alike.of_failing(job.status.tasks):
        first = "Correct the program"
    if job.is_local:
        return f"{first}. Then run the job again: capstanctl run JOB.yaml"
    return f"{first}. Then delete the job ({job.command('delete')}) and submit it again."


def _with_another_program(job: Job) -> str:
    if job.is_local:
        return "The next attempt runs the corrected file."
    return (
        f"To end the restarts, delete the job ({job.command('delete')}). Submit it again with "
        "the corrected image."
    )


def _of_tasks(job: Job) -> Iterator[str]:
    if job.is_over or job.is_deleted:
        return
    why = alike.of_failing(job.status.tasks)
    if why and job.status.phase is not Phase.SUSPENDED:
        yield f"Correct the program: {why}. {_with_another_program(job)}"
    seen: set[str] = set()
    for row in job.status.tasks:
        kind, line = _of_task(job, row)
        if kind and kind not in seen:
            seen.add(kind)
            yield line


def _of_task(job: Job, row: TaskStatus) -> tuple[str, str]:
    """Return the kind of a task's trouble, and what to do about it. Both are "" without one."""
    found = trouble.of(row)
    describe = f"kubectl describe pod {row.pod}{job.flags}"
    if found is Trouble.NODE and "persistentvolumeclaim" in row.waiting.lower():
        return _VOLUME, f"{_VOLUME}: kubectl describe pvc{job.flags}"
    if found is not None:
        return found, f"{_TROUBLES[found]}: {describe}. {refusals.another_template(job)}"
    if row.waiting.startswith(observe.SCHEDULING_GATED) and job.status.phase is not Phase.QUEUED:
        gates = "A program must remove the scheduling gates of the pod, as Kueue removes its own"
        return observe.SCHEDULING_GATED, f"{gates}: {describe}"
    if refusals.is_refused(row):
        return TaskState.CREATE_FAILED, refusals.cure(job, row)
    if _waits_for_old_pod(row) and not job.is_local:
        held = "If this lasts, a finalizer or a lost node holds the old pod"
        return "held", f"{held}: kubectl get pod {job.name}-{row.name}{job.flags} -o yaml"
    if row.state is TaskState.STOPPING and row.node and job.status.phase is not Phase.SUSPENDED:
        return row.state, (
            f"If this lasts, its node may not answer: kubectl get node {row.node}. The operator "
            "replaces the task as soon as the node is ready again, gone, or has not been ready for "
            "too long."
        )
    begins = row.state in (TaskState.PENDING, TaskState.STARTING)
    if begins and row.pod and not row.waiting and not job.is_local:
        # A pod whose scheduler does not exist gets no event.
        no_event = "" if row.node else ". If it has none, its schedulerName may name no scheduler"
        return "begins", f"If this lasts, read the events of the pod: {describe}{no_event}"
    return "", ""


def _waits_for_old_pod(row: TaskStatus) -> bool:
    """Return whether the next attempt waits until the pod of an earlier one is gone."""
    waits = (TaskState.BACK_OFF, TaskState.PENDING)
    return row.state in waits and row.uid is None and bool(row.waiting)


def _of_failure(job: Job, failed: LastFailure | None) -> Iterator[str]:
    if failed is None or failed.reason in failure.REFUSED:
        return
    kind = f"spec.replicaSpecs.{failed.task.type}"
    if failed.reason == failure.OOM_KILLED:
        yield f"Raise resources.limits.memory in {kind}, or let the program use less memory."
    elif failed.reason == failure.INIT_CONTAINER_FAILED:
        pod = f"{job.name}-{failed.task}"
        yield f"Read what the init container wrote: kubectl logs {pod}{job.flags} -c CONTAINER"
        return
    elif failed.reason in _CANNOT_RUN:
        yield f"{_TROUBLES[Trouble.START]} in {kind}."
        return
    elif failed.reason == failure.POD_DEADLINE:
        yield f"Raise activeDeadlineSeconds in the template in {kind}, or leave it out."
    elif failed.reason == failure.EVICTED:
        yield (
            f"If the message names a limit of the pod, raise this limit in {kind}. Otherwise let "
            "its tasks request what they use, or give them a priority class."
        )
        return
    elif failed.reason in _NOT_OF_THE_PROGRAM:
        yield "Nothing about the last failure: the program did not cause it."
        if failed.reason == observe.NODE_LOST and _is_repeated(job, failed):
            yield (
                f"If the template in {kind} names the node (nodeName), every attempt goes there: "
                f"delete the job ({job.command('delete')}), remove nodeName, and submit it again."
            )
        return
    elif failed.exit_code == _KILLED and failed.reason in ("", "Error") and not job.is_local:
        yield (
            "Find out who killed the task. If a probe or a hook of its container failed, an event "
            f"says so: kubectl events --for pod/{job.name}-{failed.task}{job.flags}"
        )
    yield f"Read what the task wrote: {job.command('logs')} {failed.task}"


def _is_repeated(job: Job, failed: LastFailure) -> bool:
    """Return whether the attempt before the failed one has failed, too."""
    return any(row.name == failed.task and row.failures_in_a_row > 1 for row in job.status.tasks)
