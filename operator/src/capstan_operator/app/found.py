"""A job as a pass finds it in the cache."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pydantic

from capstan_operator.api import status_json
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.errors import OperatorError
from capstan_operator.kube.table import Key
from capstan_operator.reconcile.policies import deletion


@dataclass(frozen=True, slots=True)
class Found:
    """A job at the beginning of a pass: its manifest, and the values read from it."""

    key: Key
    manifest: dict[str, Any]
    job: TrainingJob
    status: Status

    @property
    def held_by(self) -> tuple[str, ...]:
        """The finalizers that hold a deleted job, for which nothing is created any more."""
        return deletion.held_by(self.manifest)


def status_of(manifest: Mapping[str, Any]) -> Status:
    """Return the status of a job. Raises OperatorError if it cannot be read."""
    try:
        return status_json.load(manifest.get("status") or {})
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("status", *first["loc"])))
        raise OperatorError(
            f"{where} cannot be read: {first['msg']}; a newer operator or a user wrote it:"
            " install the newer operator again, or delete the job"
        ) from error


def generation(manifest: dict[str, Any]) -> int | None:
    """Return the generation of a job, or None if its manifest has none."""
    generation = manifest["metadata"].get("generation")
    return generation if isinstance(generation, int) else None
