"""What the controller remembers of a job: written before it acts, read back after a crash.

Rule 1: `render` then `load` loses nothing, so a controller that lost its memory goes on.
Rule 2: a row of `tasks` exists for every task from the first pass on and is never removed.
Rule 3: times are aware and come from the caller of `plan`.
Rule 4: the phases `Succeeded` and `Failed` are final.

JSON names are the camelCase of the attributes'. Unset fields are left out.
"""

import enum
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
)
from pydantic.alias_generators import to_camel

from capstan_operator.api.names import ReplicaType, TaskName, Uid


def _task_name(value: object) -> object:
    return TaskName.parse(value) if isinstance(value, str) else value


Name = Annotated[TaskName, BeforeValidator(_task_name), PlainSerializer(str, return_type=str)]


class Phase(enum.StrEnum):
    """Of the job. `policies.phase` says when each holds; `reconcile.suspend` has the pause."""

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
    )


class TaskStatus(Model):
    """One row of the task table.

    `attempt` counts from 1 and names the attempt that runs or comes next. `exit_code`, `reason`,
    `message` and `finished_at` tell of the last attempt that ended. `uid` is the identity of the
    current attempt, None until it has been seen. `failures_in_a_row` counts for the backoff only.
    """

    name: Name
    attempt: int = 1
    uid: Uid | None = None
    state: TaskState = TaskState.PENDING
    failures_in_a_row: int = 0
    retry_at: AwareDatetime | None = None
    started_at: AwareDatetime | None = None
    finished_at: AwareDatetime | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    step: int | None = None


class ReplicaStatus(Model):
    """Counts over the rows of one replica type; derived in every pass."""

    desired: int = 0
    pending: int = 0
    running: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    restarts: int = 0


class Restarts(Model):
    """How often something was started again, against which limit. Never decreases within a run."""

    application: int = 0
    infrastructure: int = 0


class Progress(Model):
    """Of the training as a whole. `metrics` keeps the order in which the task reported them."""

    step: int
    steps_per_second: float | None = None
    metrics: Mapping[str, float] = {}
    updated_at: AwareDatetime | None = None


class Condition(Model):
    """A metav1.Condition. `last_transition_time` moves when `status` does, and only then."""

    type: Literal["ClusterReady", "Suspended", "Succeeded", "Failed"]
    status: Literal["True", "False"]
    reason: str
    message: str = ""
    last_transition_time: AwareDatetime


class Status(Model):
    """Everything that outlives the controller. `Status()` is a job that was never looked at."""

    phase: Phase = Phase.PENDING
    conditions: tuple[Condition, ...] = ()
    epoch: int = 1
    start_time: AwareDatetime | None = None
    completion_time: AwareDatetime | None = None
    last_transition_time: AwareDatetime | None = None
    replica_statuses: Mapping[ReplicaType, ReplicaStatus] = {}
    restarts: Restarts = Restarts()
    tasks: tuple[TaskStatus, ...] = ()
    progress: Progress | None = None
    failure: str | None = None
    """One line that says why the job failed: `worker-1 attempt 7: exit code 1: ValueError: ...`"""

    def task(self, name: TaskName) -> TaskStatus:
        """Return the row of a task; KeyError if it has none."""
        return {row.name: row for row in self.tasks}[name]


def render(status: Status) -> dict[str, Any]:
    """Turn a status into what JSON and Kubernetes hold: camelCase, times as RFC 3339 text.

    Metrics that are not finite become the texts "NaN", "Infinity" and "-Infinity", as JSON has no
    such numbers; `load` reads them.
    """
    # Through text, because pydantic lets NaN stand in a dump to Python values.
    document = json.loads(status.model_dump_json(by_alias=True, exclude_none=True))
    return cast(dict[str, Any], document)


def load(document: Mapping[str, Any]) -> Status:
    """Read what `render` wrote. Raises pydantic.ValidationError for what it did not."""
    return Status.model_validate(document, by_alias=True, by_name=False)
