"""Pod templates, as far as Capstan reads them or an API server checks them.

Rule: a template belongs to its user. What its fields hold is kept as it came, unless they are named
here; that Kubernetes has fields of these names is checked in `pod`.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, StrictStr, WithJsonSchema
from pydantic_core import PydanticCustomError

from capstan_operator.api.fields import Model, Port, Text, WholeSeconds
from capstan_operator.api.names import MAX_NAME, TRAINER

DEFAULT_TERMINATION_GRACE_SECONDS = 30
"""Kubernetes' own default of a pod's `terminationGracePeriodSeconds`."""
MAX_CONTAINERS = 32
"""Rules that compare containers cost the API server time, so their number has a limit."""
ContainerName = Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)]


def _quantity(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("quantity_type", "Input should be a whole number or text")
    return value


Quantity = Annotated[
    Any, AfterValidator(_quantity), WithJsonSchema({"x-kubernetes-int-or-string": True})
]
"""Of a resource, as Kubernetes writes it."""

BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
"""A list whose items have different names: who applies one of them leaves the others alone."""


class PodModel(Model):
    """Part of a pod template: fields that Capstan does not read are kept in `model_extra`."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}
    )


class EnvVar(PodModel):
    """One variable. `value` is None when the template says `valueFrom` (kept in `model_extra`)."""

    name: Text
    """The name of the variable."""
    value: StrictStr | None = None
    """Its value; $(NAME) stands for another variable of the container."""


class ContainerPort(PodModel):
    container_port: Port
    """The port that the container listens at."""


class Resources(PodModel):
    """What a container needs and may use."""

    limits: dict[StrictStr, Quantity] = Field(default_factory=dict)
    """The most that it may use, by the name of the resource."""
    requests: dict[StrictStr, Quantity] = Field(default_factory=dict)
    """What it is sure to get, by the name of the resource."""


class Container(PodModel):
    """One container of a task's pod; all fields that Kubernetes' containers have are taken."""

    name: ContainerName
    """The name of the container; where there are several, the task is the one called trainer."""
    image: StrictStr | None = None
    """What it runs in. On one machine no image is used."""
    command: tuple[StrictStr, ...] = ()
    """What it runs, word by word; the image's own entry point if unset."""
    args: tuple[StrictStr, ...] = ()
    """Further words of the command."""
    restart_policy: StrictStr | None = None
    """Of an init container only: Always makes it a sidecar, which runs beside the task."""
    restart_policy_rules: tuple[PodModel, ...] = ()
    """What Kubernetes has for restarts within a pod; a job may not use it."""
    env: tuple[EnvVar, ...] = ()
    """Variables of its environment, besides those that tell the task of its cluster."""
    resources: Resources | None = None
    """What it needs and may use. A GPU is never asked for unless this does."""
    ports: tuple[ContainerPort, ...] = ()
    """Ports of its own; that of the cluster need not be here."""


class PodMetadata(PodModel):
    """What the pods of the tasks are labelled with, besides what says whose they are."""

    labels: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    """Labels of the pods."""
    annotations: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    """Annotations of the pods."""


class PodSpec(PodModel):
    """The pod of a task; all fields that Kubernetes' pods have are taken."""

    containers: Annotated[
        tuple[Container, ...],
        Field(min_length=1, max_length=MAX_CONTAINERS, json_schema_extra=BY_NAME),
    ]
    """The task is the container called trainer, or the only one; the others end with it."""
    init_containers: Annotated[
        tuple[Container, ...], Field(max_length=MAX_CONTAINERS, json_schema_extra=BY_NAME)
    ] = ()
    """What runs, one after the other, before the task."""
    termination_grace_period_seconds: WholeSeconds = DEFAULT_TERMINATION_GRACE_SECONDS
    """The time between SIGTERM and SIGKILL. 30 if unset."""


class PodTemplate(PodModel):
    """A pod template, as in Kubernetes' own kinds."""

    metadata: PodMetadata | None = None
    """Labels and annotations of the pods."""
    spec: PodSpec
    """What a pod of a task is."""

    @property
    def trainer(self) -> Container:
        """The container whose end is the end of the task: named `trainer`, or the only one."""
        named = [one for one in self.spec.containers if one.name == TRAINER]
        return named[0] if named else self.spec.containers[0]

    @property
    def trainer_index(self) -> int:
        """Where `trainer` stands in `spec.containers`; for messages that name the field."""
        return self.spec.containers.index(self.trainer)

    def manifest(self) -> dict[str, Any]:
        """Return what the user wrote, as JSON has it: fields unknown here included, no defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
