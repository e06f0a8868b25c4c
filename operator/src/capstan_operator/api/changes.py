"""Which fields of a TrainingJob may change once it exists, as CEL rules over its old and new form.

Rule: a field is immutable unless it is in `MUTABLE`, so that a new field is immutable by default.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from capstan_operator.api.spec import Spec

MUTABLE = frozenset(
    {
        "spec.runPolicy.activeDeadlineSeconds",
        "spec.runPolicy.pendingDeadlineSeconds",
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


def _immutable(model: type[BaseModel], path: str) -> Iterator[Change]:
    """Yield a rule for each immutable field, also inside fields that are partly mutable.

    Partly mutable fields have defaults, so they are always present.
    """
    for field in model.model_fields.values():
        here = f"{path}.{field.alias}"
        inside = field.annotation
        if here in MUTABLE:
            continue
        if any(path.startswith(f"{here}.") for path in MUTABLE) and isinstance(inside, type):
            yield from _immutable(inside, here)
        else:
            new, old = f"self.{here}", f"oldSelf.{here}"
            yield Change(here, f"has({new}) == has({old}) && (!has({new}) || {new} == {old})")


CHANGES: tuple[Change, ...] = tuple(_immutable(Spec, "spec"))
