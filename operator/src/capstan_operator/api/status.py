"""The status of a TrainingJob: all facts that the controller remembers about it, as values.

Rule 1: the status is written before the controller acts, so that it can go on after a crash.
Rule 2: a row of `tasks` exists for every task from the first pass on. If the job no longer has the
task, `removed` keeps the number of its attempts.
Rule 3: times are aware and come from the caller of `plan`.
Rule 4: the phases `Succeeded` and `Failed` are final.
Rule 5: `kubectl explain` and the reference show the text under each field.

JSON names are the camelCase of the attributes'. Unset fields are left out.
"""

import enum
from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from capstan_operator.api.names import ReplicaType, TaskName, Uid


def _task_name(value: object) -> object:
    return TaskName.parse(value) if isinstance(value, str) else value


Name = Annotated[TaskName, BeforeValidator(_task_name), PlainSerializer(str, return_type=str)]
# A metric that is not finite is written as a text.
Metric = Annotated[float, WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True})]
Word = Annotated[str, Field(exclude_if=lambda text: not text)]
"""A text that is left out if it is empty, to keep a table of a thousand rows small."""

Count = Annotated[int, Field(ge=0)]
Tally = Annotated[Count, Field(exclude_if=lambda count: not count)]
"""A count that is left out if it is 0, to keep the table small."""
Number = Annotated[int, Field(ge=1)]
"""A number that is counted from 1."""
RunTime = Annotated[float, Field(ge=0, exclude_if=lambda seconds: not seconds)]

BY_TYPE = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
"""Members have different types. Server-side apply of one member does not change the others."""

ConditionType = Literal[
    "Invalid", "NameConflict", "Suspended", "Queued", "PodsScheduled", "ClusterReady",
    "Progressing", "Succeeded", "Failed",
]  # fmt: skip


class Phase(enum.StrEnum):
    """The phase of a job (`policies.phase`; `reconcile.suspend` for Suspended)."""

    INVALID = "Invalid"
    QUEUED = "Queued"
    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    DEGRADED = "Degraded"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"

    @property
    def is_final(self) -> bool:
        return self in (Phase.SUCCEEDED, Phase.FAILED)


class TaskState(enum.StrEnum):
    """The state of one task."""

    PENDING = "Pending"  # to be started now, or started and not running yet
    STARTING = "Starting"  # runs, not ready yet
    RUNNING = "Running"  # runs and is ready
    STOPPING = "Stopping"  # runs, and was asked to stop
    BACK_OFF = "BackOff"  # failed; the next attempt waits for `retry_at`, or until this one is gone
    CREATE_FAILED = "CreateFailed"  # its start was refused; tried again at `retry_at`
    SUCCEEDED = "Succeeded"  # exit code 0; final unless the whole job restarts
    FAILED = "Failed"  # failed for good; final unless the whole job restarts
    STOPPED = "Stopped"  # ended because the job is over or suspended


class Model(BaseModel):
    """A frozen model. It ignores unknown fields, because a newer operator may write them."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        ser_json_inf_nan="strings",
        use_attribute_docstrings=True,
    )


class TaskStatus(Model):
    """One row of the task table."""

    name: Name
    """The name of the task, <type>-<index>, for example worker-1."""
    attempt: Number = 1
    """The attempt that runs or comes next, counted from 1."""
    uid: Uid | None = None
    """The identity of the current attempt; unset until the attempt is observed."""
    state: TaskState = TaskState.PENDING
    """`Pending`, `Starting` (not ready yet), `Running`, `Stopping`, `BackOff` and `CreateFailed`
    (both are tried again at retryAt), `Succeeded`, `Failed` or `Stopped`."""
    failures_in_a_row: Count = 0
    """How often the task has failed since it last ran for `resetAfterSeconds`. Each failure makes
    the next wait longer."""
    failures_alike: Tally = 0
    """How many of the last failures of the program had the same exit code and the same last line,
    before the job reported a new step."""
    refusals_in_a_row: Tally = 0
    """How many starts in a row were refused, or ended at a scheduling gate, since the task last
    ran. Each makes the next wait longer."""
    refused: Tally = 0
    """How many attempts of the task are not restarts: their start was refused, their pod was
    deleted at a scheduling gate, or they ended when `replicas` became smaller."""
    infrastructure_restarts: Tally = 0
    """Restarts after failures of this task that are not the program's;
    runPolicy.infrastructureBackoffLimit limits them."""
    retry_at: AwareDatetime | None = None
    """When the next attempt starts."""
    started_at: AwareDatetime | None = None
    """When the current attempt began to run."""
    finished_at: AwareDatetime | None = None
    """When the last finished attempt ended."""
    exit_code: int | None = None
    """The exit code of the last finished attempt; 128 + n for signal n."""
    reason: str = ""
    """Why the last finished attempt ended, in one word."""
    message: str = ""
    """The end of the log of the last finished attempt."""
    step: Count | None = None
    """The last training step that the task reported."""
    pod: Word = ""
    """The name of the task's pod; unset on one machine."""
    node: Word = ""
    """The node of the pod."""
    failed_node: Word = ""
    """The node on which the task failed last, since it last ran for `resetAfterSeconds`."""
    avoided_node: Word = ""
    """The node on which the task failed last, if it failed at least twice in a row. Its next
    attempt prefers other nodes."""
    waiting: Word = ""
    """Why the task does not run yet, for example `ImagePullBackOff: Back-off pulling image "x"`."""


class ReplicaStatus(Model):
    """Counts of the tasks of one replica type."""

    desired: Count = 0
    """Tasks that the spec asks for."""
    pending: Count = 0
    """Tasks that wait for their first or next start."""
    running: Count = 0
    """Tasks that run, whether ready or not."""
    ready: Count = 0
    """Tasks that run and are ready."""
    succeeded: Count = 0
    """Tasks that have succeeded."""
    failed: Count = 0
    """Tasks that failed for good."""
    restarts: Count = 0
    """How often tasks were started again, also after exit code 0. Refused starts do not count."""


class Restarts(Model):
    """How many restarts were charged to each limit. A new `capstanctl run` sets them to 0."""

    application: Count = 0
    """Restarts after failures of the program; runPolicy.backoffLimit limits them."""
    infrastructure: Count = 0
    """Restarts after failures that are not the program's, of all tasks together;
    runPolicy.infrastructureBackoffLimit limits those of each task."""


class Progress(Model):
    """The progress of the training. The `metrics` keep the order of the task's report."""

    step: Count
    """The training step."""
    steps_per_second: float | None = None
    """Training steps per second."""
    metrics: Mapping[str, Metric] = {}
    """The metrics of the evaluator, else of the chief, else of a worker, for example
    `loss: 0.25`."""
    last_checkpoint_step: Count | None = None
    """The training step of the last checkpoint."""
    updated_at: AwareDatetime | None = None
    """When the step was reported."""
    advanced_at: AwareDatetime | None = None
    """When the operator first saw this step."""


class Condition(Model):
    """A metav1.Condition. `last_transition_time` changes only when `status` changes."""

    type: ConditionType
    """`Invalid`, `NameConflict`, `Suspended`, `Queued`, `PodsScheduled`, `ClusterReady`,
    `Progressing`, `Succeeded`, `Failed`."""
    status: Literal["True", "False"]
    """Whether the condition holds."""
    reason: str
    """The reason for the status, in one word."""
    message: str = ""
    """The reason for the status, in a sentence."""
    observed_generation: int | None = None
    """The generation of the spec that the condition is based on."""
    last_transition_time: AwareDatetime
    """When the status of the condition last changed."""


def _ours(conditions: object) -> object:
    """Return our conditions, without the conditions of other writers and of newer operators."""
    if not isinstance(conditions, list):  # This process made the conditions itself.
        return conditions
    kinds, words = get_args(ConditionType), ("True", "False")
    mappings = [condition for condition in conditions if isinstance(condition, Mapping)]
    return [
        condition
        for condition in mappings
        if condition.get("type") in kinds and condition.get("status") in words
    ]


class Summary(Model):
    """Texts for the columns of `kubectl get`, which cannot count."""

    ps: str = ""
    """Ready and desired parameter servers, for example 1/2. After success, the first number counts
    the parameter servers that did not fail. After a failure, it counts the parameter servers that
    had succeeded."""
    workers: str = ""
    """Ready and desired workers, counted as in `ps`. The chief counts as a worker."""
    restarts: Count = 0
    """How many restarts were charged to both limits together."""
    reason: str = ""
    """Why the job failed or waits."""


class Status(Model):
    """Everything that the operator remembers of a job. `Status()` is the status of a new job."""

    observed_generation: int | None = None
    """The generation of the spec that this status is based on."""
    phase: Phase = Phase.PENDING
    """`Invalid` (no task is started; a condition names the cause), `Queued`, `Pending`, `Starting`,
    `Running`, `Degraded`, `Restarting`, `Suspended`, `Succeeded` or `Failed`. The last two are
    final."""
    conditions: Annotated[
        tuple[Condition, ...], BeforeValidator(_ours), Field(json_schema_extra=BY_TYPE)
    ] = ()
    """The conditions of the job."""
    epoch: Number = 1
    """A counter from 1. It grows by one when a parameter server is started again, when the whole
    job is started again, when a node is lost, and when a suspended job continues."""
    start_time: AwareDatetime | None = None
    """When the operator first saw the job, or last continued it after a suspension. Unset while
    the job is suspended."""
    pending_since: AwareDatetime | None = None
    """Since when not all tasks run. Unset while all tasks run, and when the job is over."""
    completion_time: AwareDatetime | None = None
    """When the job succeeded or failed."""
    last_transition_time: AwareDatetime | None = None
    """When the phase last changed."""
    running_seconds: RunTime = 0.0
    """For how many seconds all tasks ran between `startTime` and `lastTransitionTime`. If the phase
    is `Running`, they run since then, too."""
    replica_statuses: Mapping[ReplicaType, ReplicaStatus] = {}
    """Counts of the tasks of each replica type."""
    restarts: Restarts = Restarts()
    """How many restarts were charged to each limit. These numbers never decrease, except that a new
    `capstanctl run` of the job sets them to 0."""
    tasks: tuple[TaskStatus, ...] = ()
    """One row for each task."""
    progress: Progress | None = None
    """The progress of the training."""
    removed: Annotated[Mapping[Name, Number], Field(exclude_if=lambda attempts: not attempts)] = {}
    """The last attempt of each worker that the job had before `replicas` became smaller. If the
    worker comes back, it starts with the next attempt."""
    cluster_version: Tally = 0
    """How often the number of workers has changed. The file CAPSTAN_CLUSTER_FILE has this
    version."""
    selector: Word = ""
    """The label selector of the workers' pods, for a HorizontalPodAutoscaler. Unset if the job has
    no workers."""
    failure: str | None = None
    """Why the job failed, in one line, for example
    `worker-1 attempt 7: exit code 1: ValueError: ...`."""
    summary: Summary | None = None
    """Texts for the columns of `kubectl get`."""

    def task(self, name: TaskName) -> TaskStatus:
        """Return the row of a task; KeyError if it has none."""
        return {row.name: row for row in self.tasks}[name]
