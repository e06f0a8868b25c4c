"""An explanation fits on one screen: why a job does not run, and the next action."""

from dataclasses import replace
from datetime import datetime

import pytest
from report.jobs import NOON, ago, condition, job, row

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Phase, Progress, Restarts, TaskState
from capstan_operator.reconcile import observe
from capstan_operator.report import duration, explanation
from capstan_operator.report.job import Job

LOG = "Traceback (most recent call last):\n  File x\nValueError: no\n"


def screen(shown: Job) -> list[str]:
    return list(explanation.explain(shown, NOON).lines())


def test_a_degraded_job_names_the_task_its_failure_and_the_log() -> None:
    shown = job(
        Phase.DEGRADED,
        row("ps-0"),
        row("worker-0"),
        row(
            "worker-1",
            TaskState.BACK_OFF,
            attempt=3,
            exit_code=1,
            message=LOG,
            finished_at=ago(30),
            retry_at=ago(-12),
        ),
        restarts=Restarts(application=2),
        conditions=(condition("ClusterReady", False, "Degraded", "waiting for worker-1"),),
    )
    assert screen(shown) == [
        "digits: Degraded for 1m15s (namespace team-a)",
        "Waits for",
        "  worker-1  BackOff, attempt 3: again in 12s: exit code 1: ValueError: no",
        "Last failure",
        "  worker-1 attempt 2: exit code 1: ValueError: no (30s ago)",
        "Restarts",
        "  2 after failures of the program, 0 after failures of the infrastructure",
        "What to do",
        "  Read what the task wrote: capstanctl logs digits -n team-a worker-1",
    ]


def test_a_job_that_runs_without_a_step_leads_to_the_logs() -> None:
    lines = screen(job(Phase.RUNNING, row("worker-0")))
    assert "  every task runs, and none has reported a step yet" in lines
    logs = "capstanctl logs digits -n team-a"
    assert lines[-1] == f"  If it should train by now, read what the tasks wrote: {logs}"


def test_a_healthy_job_needs_nothing() -> None:
    shown = job(Phase.RUNNING, row("worker-0"), progress=Progress(step=70))
    assert screen(shown) == [
        "digits: Running for 1m15s (namespace team-a)",
        "  every task runs at step 70",
        "What to do",
        "  Nothing.",
    ]


@pytest.mark.parametrize(
    ("fields", "seconds", "is_quiet"),
    [
        ({}, 299, False),
        ({}, 720, True),
        ({"steps_per_second": 0.01}, 720, False),
        ({"steps_per_second": 0.01}, 1000, True),
    ],
)
def test_a_job_that_stands_still_without_a_deadline_is_not_called_healthy(
    fields: dict[str, float], seconds: int, is_quiet: bool
) -> None:
    progress = Progress(step=70, advanced_at=ago(seconds), **fields)
    shown = job(Phase.RUNNING, row("worker-0"), progress=progress)
    shown = replace(
        shown, status=shown.status.model_copy(update={"last_transition_time": ago(4000)})
    )
    lines = screen(shown)
    if not is_quiet:
        assert lines[-1] == "  Nothing."
        return
    again = "To restart a job that stands still, set spec.runPolicy.progressDeadlineSeconds. It may"
    assert lines[1:] == [
        f"  every task runs at step 70, and there is no new step for {duration.show(seconds)}",
        "What to do",
        "  If it should train, read what the tasks wrote: capstanctl logs digits -n team-a",
        f"  {again} be set while the job runs.",
    ]
    limited = replace(shown, run_policy=RunPolicy(progress_deadline_seconds=3600))
    assert screen(limited) == lines[:-1]
    assert screen(replace(shown, is_local=True)) == lines[:-1]


def test_the_time_before_all_tasks_ran_again_is_no_silence() -> None:
    progress = Progress(step=70, advanced_at=ago(5000))
    assert screen(job(Phase.RUNNING, row("worker-0"), progress=progress))[-1] == "  Nothing."


BOTH = RunPolicy(active_deadline_seconds=3600, pending_deadline_seconds=600)


@pytest.mark.parametrize(
    ("policy", "phase", "pending", "line"),
    [
        (BOTH, Phase.PENDING, ago(540), "the job fails in 1m, unless all its tasks run by then "
         "(spec.runPolicy.pendingDeadlineSeconds)"),
        (BOTH, Phase.RUNNING, None, "the job fails in 30m, unless it is done by then "
         "(spec.runPolicy.activeDeadlineSeconds)"),
        (RunPolicy(), Phase.PENDING, ago(540), ""),
        (BOTH, Phase.SUSPENDED, None, ""),
        (BOTH, Phase.SUCCEEDED, None, ""),
    ],
)  # fmt: skip
def test_an_unfinished_job_says_when_its_next_deadline_ends_it(
    policy: RunPolicy, phase: Phase, pending: datetime | None, line: str
) -> None:
    shown = job(phase, run_policy=policy, start_time=ago(1800), pending_since=pending)
    assert explanation.explain(shown, NOON).deadline == line
    lines = screen(shown)
    assert ("Deadline" in lines) == bool(line)
    assert not line or lines[lines.index("Deadline") + 1] == f"  {line}"


@pytest.mark.parametrize(
    ("message", "cure"),
    [
        ('Internal error occurred: failed calling webhook "a.example.com": no route', "repair"),
        (
            'pods "d-ps-0" is forbidden: violates PodSecurity "restricted:latest"',
            "security context",
        ),
        ('pods "d-ps-0" is forbidden: exceeded quota: few', "kubectl describe quota -n team-a"),
        ("maximum memory usage per Container is 1Gi", "kubectl describe limits -n team-a"),
        ('serviceaccount "x" not found', "create what the message does not find"),
    ],
)
def test_the_advice_about_a_refused_pod_fits_the_cause(message: str, cure: str) -> None:
    refused = row("ps-0", TaskState.CREATE_FAILED, reason="CreateFailed", message=message)
    [line] = explanation.explain(job(Phase.PENDING, refused), NOON).advice
    assert cure in line


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
        "raise spec.runPolicy.backoffLimit. Then delete the job (capstanctl delete digits",
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
        "Raise the deadline that the message names. Then run the job again",
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
        "a claim that does not exist",
        job(
            Phase.PENDING,
            row("ps-0", TaskState.PENDING, waiting='Unschedulable: persistentvolumeclaim "x"'),
        ),
        'Unschedulable: persistentvolumeclaim "x"',
        "why it has no volume: kubectl describe pvc -n team-a",
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


def test_a_refusal_that_tasks_share_is_shown_once() -> None:
    refused = {"reason": "CreateFailed", "message": "exceeded quota: pods", "retry_at": ago(-5)}
    rows = (row(f"worker-{index}", TaskState.CREATE_FAILED, **refused) for index in range(2))
    lines = screen(job(Phase.PENDING, *rows))
    assert lines[2:4] == [
        "  worker-0  CreateFailed, attempt 1: again in 5s: CreateFailed: exceeded quota: pods",
        "  worker-1  CreateFailed, attempt 1: again in 5s: refused as worker-0",
    ]


def test_a_task_that_never_started_has_written_nothing() -> None:
    refused = row("ps-0", TaskState.CREATE_FAILED, attempt=2, reason="CreateFailed", message="no")
    assert "logs" not in "\n".join(screen(job(Phase.PENDING, refused)))


def test_workers_that_have_ended_are_named() -> None:
    ended = row("worker-1", TaskState.SUCCEEDED, exit_code=0)
    shown = job(Phase.RUNNING, row("worker-0"), ended, progress=Progress(step=70))
    assert screen(shown)[1:] == [
        "  worker-1 ended, and every other task runs at step 70",
        "What to do",
        "  Nothing.",
    ]


def test_the_last_failure_is_the_latest_of_all_tasks() -> None:
    shown = job(
        Phase.RUNNING,
        row("ps-0", attempt=2, exit_code=137, reason="Error", finished_at=ago(500)),
        row("worker-0", attempt=3, exit_code=2, finished_at=ago(100)),
        row("worker-1", TaskState.SUCCEEDED, exit_code=0, reason="Completed", finished_at=ago(1)),
    )
    explained = explanation.explain(shown, NOON)
    assert explained.last_failure == "worker-0 attempt 2: exit code 2"
    assert explained.ago == 100


def test_a_large_job_fits_on_a_screen() -> None:
    rows = [row(f"worker-{index}", TaskState.PENDING) for index in range(1000)]
    lines = screen(job(Phase.PENDING, *rows))
    assert "  and 992 more" in lines
    assert len(lines) < 24


def test_a_job_that_is_over_waits_for_nothing() -> None:
    over = job(Phase.SUCCEEDED, row("ps-0", TaskState.STOPPING), progress=Progress(step=5))
    assert screen(over)[1] == "  the training has ended; the last report was of step 5"
    assert "Waits for" not in screen(over)


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


def test_a_job_shows_the_share_of_its_time_in_which_all_tasks_ran() -> None:
    shown = job(Phase.RUNNING, row("worker-0"), start_time=ago(1000), running_seconds=858.9)
    lines = screen(shown)
    assert lines[lines.index("Goodput") + 1] == "  all tasks ran for 93.3 % of 16m40s"
    assert explanation.explain(shown, NOON).document()["goodput"] == 0.9339
    assert "Goodput" not in screen(job(Phase.SUSPENDED))
