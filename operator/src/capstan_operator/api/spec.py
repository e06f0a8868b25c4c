"""What the user asked for, as values: the fields of a TrainingJob that have an effect.

Rule 1: a field that does nothing is absent, so that it is refused and not silently ignored.
Rule 2: a pod template belongs to its user. What its fields hold is kept as it came, unless they are
named here; that Kubernetes has fields of these names is checked in `pod`.

Build one with `parse.parse`, which also checks what a single field cannot know. All models are
frozen; YAML's names are the camelCase of the attributes'. Vocabulary and defaults: trainingjob API.
"""

import enum
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictStr, model_validator
from pydantic.alias_generators import to_camel

from capstan_operator.api.names import TRAINER, ReplicaType, TaskName, Uid

INT32_MAX = 2_147_483_647
DEFAULT_TERMINATION_GRACE_SECONDS = 30
"""Kubernetes' own default of a pod's `terminationGracePeriodSeconds`."""

Count = Annotated[int, Field(strict=True, ge=0, le=INT32_MAX)]
Replicas = Annotated[int, Field(strict=True, ge=0, le=4096)]
WholeSeconds = Annotated[int, Field(strict=True, ge=0, le=INT32_MAX)]
PositiveSeconds = Annotated[int, Field(strict=True, ge=1, le=INT32_MAX)]
Seconds = Annotated[float, Field(strict=True, ge=0, le=INT32_MAX, allow_inf_nan=False)]
Factor = Annotated[float, Field(strict=True, ge=1, le=1000, allow_inf_nan=False)]
Port = Annotated[int, Field(strict=True, ge=1, le=65535)]
Text = Annotated[StrictStr, Field(min_length=1)]


class Model(BaseModel):
    """Frozen, camelCase outside; an unset field may also be written as null, as in Kubernetes."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        known = {field.alias for field in cls.model_fields.values()}
        return {key: value for key, value in data.items() if value is not None or key not in known}


class RestartPolicy(enum.StrEnum):
    """Which ends of a task may be followed by another attempt (`policies.restart`)."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class OnFailure(enum.StrEnum):
    """What the failure of a task means for the job (`policies.restart`)."""

    RESTART_TASK = "RestartTask"
    RESTART_JOB = "RestartJob"
    FAIL_JOB = "FailJob"
    IGNORE = "Ignore"


class SuccessPolicy(enum.StrEnum):
    """Whose exit 0 ends the job (`policies.success`)."""

    DEFAULT = "Default"
    ALL_WORKERS = "AllWorkers"


class PodModel(Model):
    """Part of a pod template: fields that Capstan does not read are kept in `model_extra`."""

    model_config = ConfigDict(extra="allow")


class EnvVar(PodModel):
    """One variable. `value` is None when the template says `valueFrom` (kept in `model_extra`)."""

    name: Text
    value: StrictStr | None = None


class Container(PodModel):
    name: Text
    image: StrictStr | None = None
    command: tuple[StrictStr, ...] = ()
    args: tuple[StrictStr, ...] = ()
    env: tuple[EnvVar, ...] = ()


class PodSpec(PodModel):
    containers: Annotated[tuple[Container, ...], Field(min_length=1)]
    termination_grace_period_seconds: WholeSeconds = DEFAULT_TERMINATION_GRACE_SECONDS


class PodTemplate(PodModel):
    spec: PodSpec

    @property
    def trainer(self) -> Container:
        """The container whose end is the end of the task: named `trainer`, or the only one."""
        named = [one for one in self.spec.containers if one.name == TRAINER]
        return named[0] if named else self.spec.containers[0]

    @property
    def trainer_index(self) -> int:
        """Where `trainer` stands in `spec.containers`; for messages that name the field."""
        return self.spec.containers.index(self.trainer)


class ReplicaSpec(Model):
    """The tasks of one replica type."""

    replicas: Replicas = 1
    restart_policy: RestartPolicy = RestartPolicy.ON_FAILURE
    on_failure: OnFailure = OnFailure.RESTART_TASK
    template: PodTemplate


class ReplicaSpecs(Model):
    """At most one entry per replica type."""

    chief: ReplicaSpec | None = None
    ps: ReplicaSpec | None = None
    worker: ReplicaSpec | None = None
    evaluator: ReplicaSpec | None = None

    def items(self) -> Iterator[tuple[ReplicaType, ReplicaSpec]]:
        """Yield what the job has, in the order of `ReplicaType`."""
        for kind in ReplicaType:
            replica: ReplicaSpec | None = getattr(self, kind)
            if replica is not None:
                yield kind, replica


class RestartBackoff(Model):
    """How long a task waits before its next attempt (`policies.backoff`)."""

    initial_seconds: Seconds = 5
    factor: Factor = 2
    max_seconds: Seconds = 300
    reset_after_seconds: Seconds = 600


class RunPolicy(Model):
    backoff_limit: Count = 6
    infrastructure_backoff_limit: Count = 100
    restart_backoff: RestartBackoff = RestartBackoff()
    active_deadline_seconds: PositiveSeconds | None = None
    ps_grace_period_seconds: WholeSeconds = 30


class Cluster(Model):
    """How tasks reach each other."""

    port: Port | None = None
    """On one machine, where tasks cannot share a port: the first of as many consecutive ports as
    there are addresses. None: free ones are chosen."""


class Spec(Model):
    replica_specs: ReplicaSpecs
    cluster: Cluster = Cluster()
    success_policy: SuccessPolicy = SuccessPolicy.DEFAULT
    run_policy: RunPolicy = RunPolicy()


class Metadata(Model):
    """Kubernetes' own, as far as a TrainingJob on its own has it."""

    name: StrictStr
    namespace: Text = "default"
    uid: Uid = Uid("")
    """Identity of the job over its whole life. Empty until whoever runs the job gives it one."""
    labels: dict[StrictStr, StrictStr] = {}
    annotations: dict[StrictStr, StrictStr] = {}


class TrainingJob(Model):
    """A valid TrainingJob: what `parse.parse` returned, or a `with_uid` of it."""

    api_version: Literal["capstan.dev/v1alpha1"] = "capstan.dev/v1alpha1"
    kind: Literal["TrainingJob"] = "TrainingJob"
    metadata: Metadata
    spec: Spec

    def with_uid(self, uid: Uid) -> Self:
        """Return the same job under an identity: the API server's or, locally, a chosen one."""
        return self.model_copy(update={"metadata": self.metadata.model_copy(update={"uid": uid})})

    def replica(self, kind: ReplicaType) -> ReplicaSpec:
        """Return the replica spec of a type that the job has; KeyError if it has none."""
        return dict(self.spec.replica_specs.items())[kind]

    def tasks(self) -> tuple[TaskName, ...]:
        """All tasks in table order: chief, ps, worker, evaluator, each by index."""
        return tuple(
            TaskName(kind, index)
            for kind, replica in self.spec.replica_specs.items()
            for index in range(replica.replicas)
        )
