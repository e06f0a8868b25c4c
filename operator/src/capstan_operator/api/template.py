"""Pod templates: the fields that Capstan reads, or that an API server checks for Capstan.

Rule: a template belongs to its user. All other fields are kept unchanged. `pod` finds fields that
Kubernetes does not have.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, StrictStr, WithJsonSchema
from pydantic_core import PydanticCustomError

from capstan_operator.api.fields import Model, Port, Text, WholeSeconds
from capstan_operator.api.names import MAX_NAME, TRAINER

DEFAULT_TERMINATION_GRACE_SECONDS = 30
"""Kubernetes' own default of a pod's `terminationGracePeriodSeconds`."""
MAX_CONTAINERS = 32
"""CEL rules over containers cost the API server time, so the number of containers has a limit."""
ContainerName = Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)]


def _quantity(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("quantity_type", "Input should be a whole number or text")
    return value


Quantity = Annotated[
    Any, AfterValidator(_quantity), WithJsonSchema({"x-kubernetes-int-or-string": True})
]
"""An amount of a resource, as in Kubernetes."""

BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
"""Members have different names. Server-side apply of one member does not change the others."""


class PodModel(Model):
    """A part of a pod template. Fields that Capstan does not read are kept in `model_extra`."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}
    )


class EnvVar(PodModel):
    """One variable. `value` is None if the template sets `valueFrom` (kept in `model_extra`)."""

    name: Text
    """The name of the variable."""
    value: StrictStr | None = None
    """The value of the variable. $(NAME) is replaced by the value of another variable."""


class ContainerPort(PodModel):
    container_port: Port
    """The port on which the container listens."""


class Resources(PodModel):
    """The resources that a container requests, and their limits."""

    limits: dict[StrictStr, Quantity] = Field(default_factory=dict)
    """The maximum that the container may use, by the name of the resource."""
    requests: dict[StrictStr, Quantity] = Field(default_factory=dict)
    """The minimum that the container gets, by the name of the resource."""


class Container(PodModel):
    """One container of a task's pod, with all fields of a container in Kubernetes."""

    name: ContainerName
    """The name of the container. If there are several, the container named trainer is the task."""
    image: StrictStr | None = None
    """The container's image. On one machine no image is used."""
    command: tuple[StrictStr, ...] = ()
    """The command, word by word. If unset, the entry point of the image."""
    args: tuple[StrictStr, ...] = ()
    """Further words, which follow the words of the command."""
    restart_policy: StrictStr | None = None
    """Only init containers may set this field. `Always` makes the container a sidecar, which runs
    beside the task."""
    restart_policy_rules: tuple[PodModel, ...] = ()
    """Kubernetes' rules for restarts inside a pod. A job may not set them."""
    env: tuple[EnvVar, ...] = ()
    """Environment variables. The operator adds further variables."""
    resources: Resources | None = None
    """The container's resources. The operator never requests a GPU by itself."""
    ports: tuple[ContainerPort, ...] = ()
    """Ports of the container. The port of the cluster need not be listed."""


class PodMetadata(PodModel):
    """Labels and annotations of the tasks' pods. The operator adds labels of its own."""

    labels: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    """Labels of the pods."""
    annotations: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    """Annotations of the pods."""


class PodSpec(PodModel):
    """The pod of a task, with all fields of a pod in Kubernetes."""

    containers: Annotated[
        tuple[Container, ...],
        Field(min_length=1, max_length=MAX_CONTAINERS, json_schema_extra=BY_NAME),
    ]
    """The task is the container named trainer, or the only container. The other containers end
    with the task."""
    init_containers: Annotated[
        tuple[Container, ...], Field(max_length=MAX_CONTAINERS, json_schema_extra=BY_NAME)
    ] = ()
    """Containers that run before the task, one after the other."""
    termination_grace_period_seconds: WholeSeconds = DEFAULT_TERMINATION_GRACE_SECONDS
    """The time between SIGTERM and SIGKILL. 30 if unset."""


class PodTemplate(PodModel):
    """A pod template, as in Kubernetes' own kinds."""

    metadata: PodMetadata | None = None
    """Labels and annotations of the pods."""
    spec: PodSpec
    """The pod of a task."""

    @property
    def trainer(self) -> Container:
        """The container that is the task: the container named `trainer`, or the only container."""
        named = [container for container in self.spec.containers if container.name == TRAINER]
        return named[0] if named else self.spec.containers[0]

    @property
    def trainer_index(self) -> int:
        """The index of `trainer` in `spec.containers`, for messages that name the field."""
        return self.spec.containers.index(self.trainer)

    def manifest(self) -> dict[str, Any]:
        """Return the template as the user wrote it, with unknown fields and without defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
