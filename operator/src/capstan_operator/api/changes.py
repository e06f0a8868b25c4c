"""What may change of a TrainingJob once it exists: as rules, in CEL, of an old and a new object.

Rule: a field may not be changed unless `MUTABLE` has it, so that a new one is safe from the start.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from capstan_operator.api.spec import Spec

MUTABLE = frozenset({"spec.runPolicy.activeDeadlineSeconds"})

MESSAGE = "cannot be changed once the job exists; delete the job and create it anew"


@dataclass(frozen=True, slots=True)
class Change:
    """`cel` is false exactly if `self` has something else at `path` than `oldSelf`."""

    path: str
    cel: str
    message: str = MESSAGE


def _immutable(model: type[BaseModel], path: str) -> Iterator[Change]:
    """Yield a rule for each field, and go into those of which a part is mutable: they have
    defaults, and so are always there.
    """
    for field in model.model_fields.values():
        here = f"{path}.{field.alias}"
        inside = field.annotation
        if here in MUTABLE:
            continue
        if any(one.startswith(f"{here}.") for one in MUTABLE) and isinstance(inside, type):
            yield from _immutable(inside, here)
        else:
            new, old = f"self.{here}", f"oldSelf.{here}"
            yield Change(here, f"has({new}) == has({old}) && (!has({new}) || {new} == {old})")


CHANGES: tuple[Change, ...] = tuple(_immutable(Spec, "spec"))
