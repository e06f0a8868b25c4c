"""The types of fields that the models of a TrainingJob share, and the base of these models."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StrictStr, model_validator
from pydantic.alias_generators import to_camel

from capstan_operator.api import names

INT32_MAX = 2_147_483_647

Count = Annotated[int, Field(strict=True, ge=0, le=INT32_MAX)]
MAX_REPLICAS = 1000
Replicas = Annotated[int, Field(strict=True, ge=0, le=MAX_REPLICAS)]
"""`addresses` checks that the addresses of all tasks of a job fit into TF_CONFIG."""
WholeSeconds = Annotated[int, Field(strict=True, ge=0, le=INT32_MAX)]
PositiveSeconds = Annotated[int, Field(strict=True, ge=1, le=INT32_MAX)]
Seconds = Annotated[float, Field(strict=True, ge=0, le=INT32_MAX, allow_inf_nan=False)]
Factor = Annotated[float, Field(strict=True, ge=1, le=1000, allow_inf_nan=False)]
Port = Annotated[int, Field(strict=True, ge=1, le=65535)]
Text = Annotated[StrictStr, Field(min_length=1)]
Subdomain = Annotated[StrictStr, Field(pattern=names.DNS_SUBDOMAIN, max_length=names.MAX_SUBDOMAIN)]
QueueName = Annotated[StrictStr, Field(pattern=names.DNS_SUBDOMAIN, max_length=names.MAX_NAME)]
Manager = Annotated[StrictStr, Field(pattern=names.DOMAIN_PREFIXED, max_length=names.MAX_MANAGER)]
AbsolutePath = Annotated[StrictStr, Field(pattern=names.ABSOLUTE_PATH, max_length=names.MAX_PATH)]

Quantity = Annotated[StrictStr, Field(pattern=names.QUANTITY, max_length=names.MAX_QUANTITY)]


class Model(BaseModel):
    """Frozen; camelCase in documents. An unset field may be written as null, as in Kubernetes."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    _field_names: ClassVar[frozenset[str]]
    """The names of the fields in documents."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {
            key: value
            for key, value in data.items()
            if value is not None or key not in cls._field_names
        }

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls._field_names = frozenset(field.alias or "" for field in cls.model_fields.values())
