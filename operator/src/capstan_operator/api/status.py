"""The status of a TrainingJob: all that the controller remembers of it, as values.

Rule 1: the status is written before the controller acts, so that it can go on after a crash.
Rule 2: a row of `tasks` exists for every task from the first pass on and is never removed.
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
# A metric that is no number is written as a text.
Metric = Annotated[float, WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True})]
Word = Annotated[str, Field(exclude_if=lambda text: not text)]
"""Text that is left out where it is empty: a table of thousands of rows is to stay small."""

Refusals = Annotated[int, Field(exclude_if=lambda count: not count)]

BY_TYPE = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
"""A list with one item of each type: who applies one of them leaves the others alone."""

ConditionType = Literal[
    "Invalid", "NameConflict", "Suspended", "PodsScheduled", "ClusterReady", "Succeeded", "Failed"
]  # fmt: skip


class Phase(enum.StrEnum):
    """Of the job. `policies.phase` says when each holds; `reconcile.suspend` has the pause."""

    INVALID = "Invalid"
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
    """Of one task, as its row shows it."""

    PENDING = "Pending"  # to be started now, or started and not yet running
    STARTING = "Starting"  # runs, not ready yet
    RUNNING = "Running"  # runs and is ready
    STOPPING = "Stopping"  # runs, has been told to stop
    BACK_OFF = "BackOff"  # failed; its next attempt waits for `retry_at`, or for the old one to go
    CREATE_FAILED = "CreateFailed"  # could not be started; tried again like BackOff
    SUCCEEDED = "Succeeded"  # exit 0; final unless the whole job restarts
    FAILED = "Failed"  # failed for good; final unless the whole job restarts
    STOPPED = "Stopped"  # ended because the job did, or because it is suspended


class Model(BaseModel):
    """Frozen; lenient about unknown fields, which a newer controller may have written."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        ser_json_inf_nan="strings",
        use_attribute_docstrings=True,
    )


class TaskStatus(Model):
    """One row of the task table. `failures_in_a_row` counts for the backoff only."""

    name: Name
    """The task, <type>-<index>: worker-1."""
    attempt: int = 1
    """Counts from 1 and names the attempt that runs or comes next."""
    uid: Uid | None = None
    """The identity of the current attempt; unset until it has been seen."""
    state: TaskState = TaskState.PENDING
    """`Pending`, `Starting` (not ready yet), `Running`, `Stopping`; `BackOff` and `CreateFailed`
    (tried again at retryAt); `Succeeded`, `Failed` or `Stopped`."""
    failures_in_a_row: int = 0
    """How often it has failed since it last ran for a while; each makes the next wait longer."""
    refused: Refusals = 0
    """How many of its attempts were never made, for the start of each was refused."""
    retry_at: AwareDatetime | None = None
    """When the next attempt starts."""
    started_at: AwareDatetime | None = None
    """When the current attempt began to run."""
    finished_at: AwareDatetime | None = None
    """When the last attempt that ended did."""
    exit_code: int | None = None
    """What the last attempt that ended ended with; 128 + n for signal n."""
    reason: str = ""
    """Why the last attempt that ended did, in one word."""
    message: str = ""
    """The last words of the last attempt that ended."""
    step: int | None = None
    """The training step that the task last reported."""
    pod: Word = ""
    """The name of its pod; unset where there are no pods."""
    node: Word = ""
    """Where the pod runs."""
    waiting: Word = ""
    """Why a task that is to run by now does not: ImagePullBackOff: Back-off pulling image "x"."""


class ReplicaStatus(Model):
    """Counts over the rows of one replica type; derived in every pass."""

    desired: int = 0
    """Tasks that there are to be."""
    pending: int = 0
    """Tasks that have yet to start, for the first time or again."""
    running: int = 0
    """Tasks that run, ready or not."""
    ready: int = 0
    """Tasks that run and are ready."""
    succeeded: int = 0
    """Tasks that are done."""
    failed: int = 0
    """Tasks that failed for good."""
    restarts: int = 0
    """How often tasks were started again, also after exit code 0. Refused starts do not count."""


class Restarts(Model):
    """How many restarts were charged to each limit. Never decreases within a run."""

    application: int = 0
    """Restarts after failures of the program; runPolicy.backoffLimit limits them."""
    infrastructure: int = 0
    """Restarts after failures that are not the program's; runPolicy.infrastructureBackoffLimit
    limits them."""


class Progress(Model):
    """Of the training as a whole. `metrics` keeps the order in which the task reported them."""

    step: int
    """The training step."""
    steps_per_second: float | None = None
    """How fast the step grows."""
    metrics: Mapping[str, Metric] = {}
    """What the evaluator measured, else the chief, else a worker: loss: 0.25."""
    updated_at: AwareDatetime | None = None
    """When this was reported."""


class Condition(Model):
    """A metav1.Condition. `last_transition_time` moves when `status` does, and only then."""

    type: ConditionType
    """`Invalid`, `NameConflict`, `Suspended`, `PodsScheduled`, `ClusterReady`, `Succeeded`,
    `Failed`."""
    status: Literal["True", "False"]
    """Whether it holds."""
    reason: str
    """Why, in one word."""
    message: str = ""
    """Why, in a sentence."""
    last_transition_time: AwareDatetime
    """Since when."""


def _ours(conditions: object) -> object:
    """Leave out conditions that others keep beside ours, and those of a newer operator."""
    if not isinstance(conditions, list):  # made here, not read
        return conditions
    kinds, words = get_args(ConditionType), ("True", "False")
    read = [(one, one if isinstance(one, Mapping) else {}) for one in conditions]
    return [one for one, of in read if of.get("type") in kinds and of.get("status") in words]


class Summary(Model):
    """Texts for a table of jobs, which shows fields as they are and counts nothing."""

    ps: str = ""
    """Parameter servers, ready of desired: 1/2. When the job has succeeded: those that did not
    fail. When it has failed: those that were done."""
    workers: str = ""
    """The same of workers; a chief counts as one."""
    restarts: int = 0
    """How many restarts were charged to a limit, whichever."""
    reason: str = ""
    """Why the job failed, else what it waits for."""


class Status(Model):
    """Everything that outlives the controller. `Status()` is a job that was never looked at."""

    observed_generation: int | None = None
    """The newest generation of the spec that this status takes into account."""
    phase: Phase = Phase.PENDING
    """`Invalid` (nothing is started; a condition says why), `Pending`, `Starting`, `Running`,
    `Degraded`, `Restarting`, `Suspended`; `Succeeded` and `Failed` are final."""
    conditions: Annotated[
        tuple[Condition, ...], BeforeValidator(_ours), Field(json_schema_extra=BY_TYPE)
    ] = ()
    """What holds of the job, why, and since when."""
    epoch: int = 1
    """Grows by one when a parameter server is started again, when the whole job is, when a node is
    lost, and when a suspended job continues."""
    start_time: AwareDatetime | None = None
    """When the job was first looked at."""
    completion_time: AwareDatetime | None = None
    """When the job succeeded or failed."""
    last_transition_time: AwareDatetime | None = None
    """When the phase last changed."""
    replica_statuses: Mapping[ReplicaType, ReplicaStatus] = {}
    """How many tasks of each type do what."""
    restarts: Restarts = Restarts()
    """How many restarts were charged to each limit. Never decreases within a run."""
    tasks: tuple[TaskStatus, ...] = ()
    """A row for each task, from the first moment to the end."""
    progress: Progress | None = None
    """How far the training has come."""
    failure: str | None = None
    """One line that says why the job failed: worker-1 attempt 7: exit code 1: ValueError: ..."""
    summary: Summary | None = None
    """What a table of jobs shows."""

    def task(self, name: TaskName) -> TaskStatus:
        """Return the row of a task; KeyError if it has none."""
        return {row.name: row for row in self.tasks}[name]
