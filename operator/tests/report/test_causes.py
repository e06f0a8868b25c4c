"""An explanation names the cause for which a job does not run, and has advice for it."""

import pytest
from report.jobs import NOON, ago, condition, job, row

from capstan_operator.api.status import Phase, TaskState
from capstan_operator.reconcile import observe
from capstan_operator.report import explanation
from capstan_operator.report.job import Job


def screen(shown: Job) -> list[str]:
    return list(explanation.explain(shown, NOON).lines())


@pytest.mark.parametrize(
    ("message", "cure"),
    [
        ('Internal error occurred: failed calling webhook "a.example.com": no route', "repair"),
        (
            'pods "d-ps-0" is forbidden: violates PodSecurity "restricted:latest"',
            "security context",
        ),
        ('pods "d-ps-0" is forbidden: exceeded quota: few', "kubectl describe quota -n team-a"),
        ('pods "d-ps-0" is forbidden: failed quota: q: must specify limits.cpu', "LimitRange"),
        ("maximum memory usage per Container is 1Gi", "kubectl describe limits -n team-a"),
        ('serviceaccount "x" not found', "create what the message does not find"),
    ],
)
def test_the_advice_about_a_refused_pod_fits_the_cause(message: str, cure: str) -> None:
    refused = row("ps-0", TaskState.CREATE_FAILED, reason="CreateFailed", message=message)
    [line] = explanation.explain(job(Phase.PENDING, refused), NOON).advice
    assert cure in line


def test_the_advice_about_a_pod_whose_name_is_taken_blames_no_quota() -> None:
    taken = row("ps-0", TaskState.CREATE_FAILED, reason=observe.NAME_CONFLICT, message="a pod")
    conflict = condition("NameConflict", True, observe.NAME_CONFLICT, "a pod")
    [line] = explanation.explain(job(Phase.PENDING, taken, conditions=(conflict,)), NOON).advice
    assert line.startswith("Delete or rename the object")


def test_the_advice_to_delete_a_job_says_that_its_checkpoints_go_with_it() -> None:
    lines = explanation.explain(job(Phase.FAILED, claim="digits-checkpoints"), NOON).advice
    assert "kubectl patch pvc digits-checkpoints -n team-a --type=merge" in lines[-1]
    for other in (job(Phase.FAILED), job(Phase.RUNNING, claim="digits-checkpoints")):
        assert not any("pvc" in line for line in explanation.explain(other, NOON).advice)


@pytest.mark.parametrize(
    "waiting", ["ImagePullBackOff", "CreateContainerConfigError", "Unschedulable"]
)
def test_the_advice_about_a_template_says_how_to_change_it(waiting: str) -> None:
    """The API server refuses another template of an existing job."""
    waits = row("ps-0", TaskState.PENDING, waiting=f"{waiting}: why", pod="digits-ps-0")
    [line] = explanation.explain(job(Phase.PENDING, waits), NOON).advice
    assert line.endswith(
        "To change the template, delete the job (capstanctl delete digits -n team-a), correct its "
        "file, and submit it again."
    )


CAUSES: list[tuple[str, Job, str, str]] = [
    (
        "an image that cannot be pulled",
        job(
            Phase.PENDING,
            row("ps-0", TaskState.PENDING, waiting="ImagePullBackOff: no such image", pod="d-ps-0"),
            conditions=(condition("ClusterReady", False, "Pending", "waiting for ps-0"),),
        ),
        "ps-0  Pending, attempt 1: ImagePullBackOff: no such image",
        "kubectl describe pod d-ps-0 -n team-a",
    ),
    (
        "no node with room",
        job(Phase.PENDING, row("ps-0", TaskState.PENDING, waiting="Unschedulable: 0/3 nodes")),
        "Unschedulable: 0/3 nodes",
        "Free or add nodes",
    ),
    (
        "a secret that is missing",
        job(Phase.PENDING, row("ps-0", TaskState.PENDING, waiting="CreateContainerConfigError: x")),
        "CreateContainerConfigError: x",
        "Create the Secret, ConfigMap or key",
    ),
    (
        "a pod that the API server refuses",
        job(
            Phase.PENDING,
            row(
                "ps-0",
                TaskState.CREATE_FAILED,
                reason="CreateFailed",
                message="exceeded quota: pods",
                retry_at=ago(-5),
            ),
        ),
        "again in 5s: CreateFailed: exceeded quota: pods",
        "refused the pod of ps-0, and the operator tries again",
    ),
    (
        "a pod that needs an object that does not exist",
        job(
            Phase.PENDING,
            row(
                "ps-0",
                TaskState.CREATE_FAILED,
                reason="CreateFailed",
                message='serviceaccount "trainer" not found',
            ),
        ),
        'serviceaccount "trainer" not found',
        "create what the message does not find. To change the template, delete the job",
    ),
    (
        "a scheduler that does not exist",
        job(Phase.PENDING, row("ps-0", TaskState.PENDING, pod="digits-ps-0")),
        "it has no node yet",
        "digits-ps-0 -n team-a. If it has none, its schedulerName may name no scheduler",
    ),
    (
        "a process that the system refuses",
        job(
            Phase.PENDING,
            row("ps-0", TaskState.CREATE_FAILED, reason="CreateFailed", message="EAGAIN"),
            is_local=True,
        ),
        "CreateFailed: EAGAIN",
        "it refused to start ps-0",
    ),
    (
        "an invalid template",
        job(
            Phase.INVALID,
            conditions=(condition("Invalid", True, "TemplateInvalid", "ps: no field imgae"),),
        ),
        "ps: no field imgae",
        "Delete the job (capstanctl delete digits -n team-a), correct its file",
    ),
    (
        "a job that was scaled too far",
        job(
            Phase.INVALID,
            row("worker-0", TaskState.RUNNING, uid="1"),
            conditions=(condition("Invalid", True, "SpecInvalid", "TF_CONFIG is too long"),),
        ),
        "TF_CONFIG is too long",
        "set it back, because tasks that end are not started again meanwhile: kubectl scale tjob "
        "digits -n team-a --replicas=N",
    ),
    (
        "a name that is taken",
        job(
            Phase.PENDING,
            conditions=(condition("NameConflict", True, observe.NAME_CONFLICT, "Service digits"),),
        ),
        "Service digits",
        "Delete or rename the object",
    ),
    (
        "a Service that cannot be created",
        job(
            Phase.PENDING,
            row("ps-0", TaskState.PENDING),
            conditions=(
                condition("ClusterReady", False, observe.SERVICE_MISSING, "quota of Services"),
            ),
        ),
        "quota of Services",
        "keeps the operator from creating the job's Service",
    ),
    (
        "pods of an old job",
        job(
            Phase.PENDING,
            row("ps-0", TaskState.PENDING),
            conditions=(
                condition("ClusterReady", False, observe.WAITING_FOR_OLD_PODS, "old pods"),
            ),
        ),
        "old pods",
        "Nothing: the job starts when the pods of the old job are gone.",
    ),
    (
        "no operator",
        job(Phase.PENDING, is_observed=False),
        "no operator has",
        "kubectl get deployments -A "
        "-l app.kubernetes.io/part-of=capstan,app.kubernetes.io/component=operator",
    ),
    (
        "a deletion",
        job(Phase.RUNNING, row("ps-0"), is_deleted=True),
        "its deletion was requested",
        "capstanctl wait digits -n team-a --for deleted",
    ),
    (
        "a deletion that waits for a finalizer",
        job(
            Phase.SUSPENDED,
            row("ps-0", TaskState.STOPPED),
            conditions=(
                condition("ClusterReady", False, "Suspended", "no task runs"),
                condition("Suspended", True, "Deleted", "it waits for example.com/archive"),
            ),
            is_deleted=True,
        ),
        "it waits for example.com/archive",
        "Find out why the programs that set the finalizers do not remove them.",
    ),
    (
        "a local job whose status a user has damaged",
        job(Phase.PENDING, is_local=True, is_run=False, is_observed=False),
        "its status.json cannot be read",
        "Run the job again, and it continues: capstanctl run JOB.yaml",
    ),
    (
        "a local job that has just begun",
        job(Phase.PENDING, is_local=True, is_observed=False),
        "its run has just begun",
        "Nothing",
    ),
    (
        "a local job that was killed",
        job(Phase.RUNNING, row("ps-0"), is_local=True, is_run=False),
        "no capstanctl runs it",
        "capstanctl run JOB.yaml",
    ),
    (
        "a local job that was interrupted",
        job(
            Phase.SUSPENDED,
            conditions=(condition("Suspended", True, "Interrupted", "SIGINT came"),),
            is_local=True,
            is_run=False,
        ),
        "SIGINT came",
        "Run the job again, and it continues: capstanctl run JOB.yaml",
    ),
    (
        "a used-up limit",
        job(
            Phase.FAILED,
            row("worker-1", TaskState.FAILED, attempt=7, exit_code=1, finished_at=ago(9)),
            failure="worker-1 attempt 7: exit code 1",
            conditions=(condition("Failed", True, "BackoffLimitExceeded", "limit"),),
        ),
        "worker-1 attempt 7: exit code 1",
        "raise the limit that the message names. Then delete the job (capstanctl delete digits",
    ),
    (
        "a program that fails at each start",
        job(
            Phase.DEGRADED,
            row(
                "worker-1",
                TaskState.BACK_OFF,
                attempt=4,
                exit_code=1,
                reason="Error",
                message="  x = 1\nImportError: no tf",
                failures_alike=3,
            ),
        ),
        "worker-1 attempt 3: exit code 1: ImportError: no tf",
        "Correct the program: 3 attempts in a row ended like the last one of worker-1, and none "
        "reported a step: the program is the likely cause. To end the restarts, delete the job "
        "(capstanctl delete digits -n team-a).",
    ),
    (
        "a program that fails at each start, locally",
        job(
            Phase.DEGRADED,
            row("worker-1", TaskState.BACK_OFF, attempt=4, exit_code=1, failures_alike=3),
            is_local=True,
        ),
        "worker-1 attempt 3: exit code 1",
        "the program is the likely cause. The next attempt runs the corrected file.",
    ),
    (
        "a limit that a program has used up at its starts",
        job(
            Phase.FAILED,
            row("worker-1", TaskState.FAILED, attempt=7, exit_code=1, failures_alike=7),
            failure="worker-1 attempt 7: exit code 1",
            conditions=(condition("Failed", True, "BackoffLimitExceeded", "7 alike"),),
        ),
        "7 alike",
        "Correct the program. Then delete the job (capstanctl delete digits",
    ),
    (
        "a deadline during the wait of a program that fails at each start",
        job(
            Phase.FAILED,
            row("worker-1", TaskState.STOPPED, attempt=4, exit_code=1, failures_alike=3),
            failure="not done after 60 s",
            conditions=(condition("Failed", True, "DeadlineExceeded", "not done; 3 alike"),),
        ),
        "not done; 3 alike",
        "Correct the program. Then delete the job (capstanctl delete digits",
    ),
    (
        "a webhook that changes the pods of a running job",
        job(
            Phase.DEGRADED,
            row(
                "worker-1",
                TaskState.CREATE_FAILED,
                attempt=4,
                reason="CreateFailed",
                message="admission changes spec.restartPolicy of the pod; the operator relies on "
                "it: exempt pods",
            ),
        ),
        "admission changes spec.restartPolicy of the pod",
        "The operator cannot use the pod of worker-1, and tries again: exempt the pods of the job "
        "from the webhook: kubectl get mutatingwebhookconfigurations.",
    ),
    (
        "a pod that does not end",
        job(
            Phase.RESTARTING,
            row("worker-1", TaskState.STOPPING, pod="digits-worker-1", node="n7"),
        ),
        "worker-1  Stopping, attempt 1: it was asked to end",
        "If this lasts, its node may not answer: kubectl get node n7. The operator replaces the "
        "task as soon as the node is ready again, gone, or has not been ready for too long.",
    ),
    (
        "another controller",
        job(Phase.PENDING, is_observed=False, manager="kueue.x-k8s.io/multikueue"),
        "kueue.x-k8s.io/multikueue runs it",
        "Nothing: kueue.x-k8s.io/multikueue runs the job, as spec.managedBy says.",
    ),
    (
        "a queue",
        job(
            Phase.QUEUED,
            row("worker-0", TaskState.PENDING, waiting="SchedulingGated: blocked"),
            conditions=(condition("ClusterReady", False, "Queued", "waiting until Kueue admits"),),
        ),
        "SchedulingGated: blocked",
        "What Kueue waits for: kubectl describe workloads.",
    ),
    (
        "a gate that no queue has set",
        job(
            Phase.PENDING,
            row("worker-0", TaskState.PENDING, pod="digits-worker-0", waiting="SchedulingGated: x"),
        ),
        "SchedulingGated: x",
        "A program must remove the scheduling gates of the pod, as Kueue removes its own: kubectl",
    ),
    (
        "a deadline of the template",
        job(
            Phase.DEGRADED,
            row("worker-0", TaskState.BACK_OFF, attempt=2, reason="DeadlineExceeded", message="x"),
        ),
        "worker-0 attempt 1: DeadlineExceeded: x",
        "Raise activeDeadlineSeconds in the template in spec.replicaSpecs.worker",
    ),
    (
        "a missing scheduler",
        job(
            Phase.PENDING,
            conditions=(condition("ClusterReady", False, "GangUnavailable", "no PodGroups"),),
        ),
        "no PodGroups",
        "Install the scheduler that spec.scheduling.gang names",
    ),
    (
        "a deadline, locally",
        job(
            Phase.FAILED,
            failure="not done after 60 s",
            conditions=(
                condition(
                    "Failed",
                    True,
                    "DeadlineExceeded",
                    "not done after 60 s (spec.runPolicy.activeDeadlineSeconds)",
                ),
            ),
            is_local=True,
            is_run=False,
        ),
        "not done after 60 s (spec.runPolicy.activeDeadlineSeconds)",
        "Remove the cause, or raise the deadline that the message names. Then run the job again",
    ),
    (
        "too little memory",
        job(
            Phase.DEGRADED,
            row("ps-0", TaskState.BACK_OFF, attempt=2, exit_code=137, reason="OOMKilled"),
        ),
        "ps-0 attempt 1: exit code 137 (OOMKilled)",
        "Raise resources.limits.memory in spec.replicaSpecs.ps",
    ),
    (
        "an eviction",
        job(
            Phase.DEGRADED,
            row("ps-0", TaskState.BACK_OFF, attempt=2, reason="Evicted", message="disk usage"),
        ),
        "ps-0 attempt 1: Evicted: disk usage",
        "If the message names a limit of the pod, raise this limit in spec.replicaSpecs.ps.",
    ),
    (
        "an init container that failed",
        job(
            Phase.RESTARTING,
            row(
                "ps-0",
                TaskState.BACK_OFF,
                attempt=2,
                exit_code=1,
                reason="InitContainerFailed",
                message="init container fetch: no data",
            ),
        ),
        "attempt 2: exit code 1 (InitContainerFailed): init container fetch: no data",
        "kubectl logs digits-ps-0 -n team-a -c CONTAINER",
    ),
    (
        "a lost node",
        job(Phase.DEGRADED, row("ps-0", TaskState.BACK_OFF, attempt=2, reason="NodeLost")),
        "ps-0 attempt 1: NodeLost",
        "Nothing about the last failure: the program did not cause it.",
    ),
    (
        "a node that the template names and that does not exist",
        job(
            Phase.RESTARTING,
            row("ps-0", TaskState.BACK_OFF, attempt=3, reason="NodeLost", failures_in_a_row=2),
        ),
        "ps-0 attempt 2: NodeLost",
        "If the template in spec.replicaSpecs.ps names the node (nodeName), every attempt goes",
    ),
    (
        "a pod that vanished",
        job(Phase.DEGRADED, row("ps-0", TaskState.PENDING, attempt=2, reason="Lost")),
        "ps-0 attempt 1: Lost",
        "Nothing about the last failure: the program did not cause it.",
    ),
    (
        "a failed liveness probe",
        job(
            Phase.DEGRADED,
            row("ps-0", TaskState.BACK_OFF, attempt=2, exit_code=137, reason="Error"),
        ),
        "ps-0 attempt 1: exit code 137 (SIGKILL)",
        "an event says so: kubectl events --for pod/digits-ps-0 -n team-a",
    ),
    (
        "a finalizer on a pod",
        job(
            Phase.RESTARTING,
            row(
                "ps-0",
                TaskState.BACK_OFF,
                attempt=2,
                exit_code=143,
                reason="Deleted",
                pod="digits-ps-0",
                waiting="the pod of attempt 1 is still being deleted",
            ),
        ),
        "ps-0  BackOff, attempt 2: the pod of attempt 1 is still being deleted",
        "a finalizer or a lost node holds the old pod: kubectl get pod digits-ps-0 -n team-a -o",
    ),
    (
        "a finalizer on the pod of a task that has ended, and could start again at once",
        job(
            Phase.RESTARTING,
            row(
                "ps-0",
                TaskState.PENDING,
                attempt=2,
                exit_code=1,
                reason="Error",
                waiting="the pod of attempt 1 is still being deleted",
            ),
        ),
        "ps-0  Pending, attempt 2: the pod of attempt 1 is still being deleted",
        "a finalizer or a lost node holds the old pod: kubectl get pod digits-ps-0 -n team-a -o",
    ),
    (
        "a missing class, while the operator tries again",
        job(
            Phase.PENDING,
            row(
                "worker-0",
                TaskState.PENDING,
                attempt=3,
                reason="CreateFailed",
                message="pods are forbidden: no PriorityClass with name x was found",
                refusals_in_a_row=2,
            ),
        ),
        "worker-0  Pending, attempt 3",
        "change the quota or policy that the message names, or create what the message does not "
        "find",
    ),
    (
        "a claim that does not exist",
        job(
            Phase.PENDING,
            row("ps-0", TaskState.PENDING, waiting='Unschedulable: persistentvolumeclaim "x"'),
        ),
        'Unschedulable: persistentvolumeclaim "x"',
        "why it has no volume: kubectl describe pvc -n team-a",
    ),
    (
        "a sidecar that crashes",
        job(
            Phase.PENDING,
            row(
                "ps-0",
                TaskState.PENDING,
                pod="digits-ps-0",
                waiting="CrashLoopBackOff: sidecar proxy must start before the task",
            ),
        ),
        "CrashLoopBackOff: sidecar proxy must start before the task",
        "Correct the sidecar that the message names, or its startup probe: kubectl describe pod "
        "digits-ps-0 -n team-a",
    ),
    (
        "a volume that cannot be mounted",
        job(Phase.PENDING, row("ps-0", TaskState.PENDING, pod="digits-ps-0", node="node1")),
        "ps-0  Pending, attempt 1: node1 prepares its volumes and images",
        "If this lasts, read the events of the pod: kubectl describe pod digits-ps-0 -n team-a",
    ),
    (
        "a scheduler that does not exist",
        job(Phase.PENDING, row("ps-0", TaskState.PENDING, pod="digits-ps-0")),
        "ps-0  Pending, attempt 1: it has no node yet",
        "If this lasts, read the events of the pod: kubectl describe pod digits-ps-0 -n team-a",
    ),
    (
        "a readiness probe that fails",
        job(Phase.STARTING, row("ps-0", TaskState.STARTING, pod="digits-ps-0", node="node1")),
        "ps-0  Starting, attempt 1: it runs, but is not ready",
        "If this lasts, read the events of the pod: kubectl describe pod digits-ps-0 -n team-a",
    ),
    (
        "a command that does not exist",
        job(
            Phase.RESTARTING,
            row("ps-0", TaskState.BACK_OFF, attempt=2, exit_code=128, reason="StartError"),
        ),
        "ps-0 attempt 1: exit code 128 (StartError)",
        "Check the command, the mounts and the security context of the container in "
        "spec.replicaSpecs.ps.",
    ),
    (
        "a parameter server that ends too early",
        job(Phase.RUNNING, row("ps-0", TaskState.SUCCEEDED, exit_code=0), row("worker-0")),
        "ps-0 ended, and every other task runs, and none has reported a step yet",
        "its program must wait for the end of the training, for example in server.join().",
    ),
]


@pytest.mark.parametrize(
    "shown, cause, to_do", [case[1:] for case in CAUSES], ids=[c[0] for c in CAUSES]
)
def test_each_cause_is_named_and_has_advice(shown: Job, cause: str, to_do: str) -> None:
    lines = screen(shown)
    advice = lines[lines.index("What to do") :]
    assert any(cause in line for line in lines), lines
    assert any(to_do in line for line in advice), advice


def test_the_document_has_all_that_the_screen_has() -> None:
    explained = explanation.explain(CAUSES[0][1], NOON)
    document = explained.document()
    assert document["phase"] == "Pending"
    assert document["secondsInPhase"] == 75.0
    assert document["waitsFor"] == [
        {
            "task": "ps-0",
            "state": "Pending",
            "attempt": 1,
            "why": "ImagePullBackOff: no such image",
        }
    ]
    assert document["advice"] == list(explained.advice)
