"""Which fields of a TrainingJob may change once it exists, as CEL rules over its old and new form.

Rule: a field is immutable unless it is in `MUTABLE`, so that a new field is immutable by default.
"""

import typing
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from capstan_operator.api.spec import Spec

MUTABLE = frozenset(
    {
        "spec.replicaSpecs.worker.replicas",
        "spec.runPolicy.activeDeadlineSeconds",
        "spec.runPolicy.pendingDeadlineSeconds",
        "spec.runPolicy.progressDeadlineSeconds",
        "spec.runPolicy.ttlSecondsAfterFinished",
        "spec.suspend",
    }
)

MESSAGE = "cannot be changed once the job exists; delete the job and create it again"


@dataclass(frozen=True, slots=True)
class Change:
    """`cel` is false exactly if `self` and `oldSelf` differ at `path`."""

    path: str
    cel: str
    message: str = MESSAGE


def _immutable(model: type[BaseModel], path: str, guard: str = "") -> Iterator[Change]:
    """Yield a rule for each immutable field, also inside fields that are partly mutable.

    A field that is partly mutable may not be added or removed, unless it has a default. Behind
    `guard`, it is present in both forms.
    """
    for field in model.model_fields.values():
        here = f"{path}.{field.alias}"
        new, old = f"self.{here}", f"oldSelf.{here}"
        if here in MUTABLE:
            continue
        if not any(path.startswith(f"{here}.") for path in MUTABLE):
            same = f"has({new}) == has({old}) && (!has({new}) || {new} == {old})"
            yield Change(here, f"{guard}({same})" if guard else same)
        elif field.default is None:
            yield Change(here, f"{guard}has({new}) == has({old})")
            inner = f"{guard}!has({new}) || !has({old}) || "
            yield from _immutable(_model(field.annotation), here, inner)
        else:
            yield from _immutable(_model(field.annotation), here, guard)


def _model(annotation: object) -> type[BaseModel]:
    """Return the model of a field `Model` or `Model | None`."""
    for kind in (annotation, *typing.get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    raise TypeError(f"{annotation} is not a model")


CHANGES: tuple[Change, ...] = tuple(_immutable(Spec, "spec"))

_WORKER = "replicaSpecs.worker"

SIZE_IN_QUEUE = Change(
    path=f"spec.{_WORKER}.replicas",
    cel="!has(self.spec.scheduling) || !has(self.spec.scheduling.queueName)"
    f" || !has(self.spec.{_WORKER}) || !has(oldSelf.spec.{_WORKER})"
    f" || self.spec.{_WORKER}.replicas == oldSelf.spec.{_WORKER}.replicas",
    message="cannot be changed while spec.scheduling.queueName is set, because Kueue admits a fixed"
    " number of pods; delete the job and create it again",
)
"""Kueue knows no group of pods whose size changes."""
