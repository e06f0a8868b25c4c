"""Leave the faulty values out of a document, so that more faults can be found in the rest.

Rule 1: the rest is only checked, and never run.
Rule 2: members of a list keep their positions, so that the paths of faults are right.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pydantic
from pydantic_core import ErrorDetails

from capstan_operator.api.spec import TrainingJob

_STAND_INS: Mapping[str, Any] = {"metadata": {}, "name": "unnamed"}
"""Values for missing required fields. The start of a task does not depend on these fields. Without
the values, the fields beside a missing field could not be checked."""

_ATTEMPTS = 16
"""More than the depth of a TrainingJob: each attempt leaves out at least one level."""

Place = tuple[int | str, ...]


def part(raw: Mapping[str, Any]) -> TrainingJob | None:
    """Return the valid part of a document as a job, or None if too little is left."""
    rest = copy.deepcopy(dict(raw))
    for _ in range(_ATTEMPTS):
        try:
            return TrainingJob.model_validate(rest, by_alias=True, by_name=False)
        except pydantic.ValidationError as error:
            places = {cause["loc"]: cause["type"] for cause in causes(error)}
        missing = [place for place, kind in places.items() if kind == "missing"]
        if not _without(rest, places.keys() - set(missing)) or not _completed(rest, missing):
            return None
    return None


def causes(error: pydantic.ValidationError) -> list[ErrorDetails]:
    """Return the errors that do not follow from others.

    pydantic also reports a list as empty if all its members are faulty.
    """
    every = error.errors(include_url=False)
    return [detail for detail in every if detail["type"] != "too_short" or not detail["input"]]


def _without(rest: dict[str, Any], places: Iterable[Place]) -> bool:
    """Remove the values at these places. Return whether that was possible."""
    return all(_leave_out(rest, place) for place in places)


def _completed(rest: dict[str, Any], missing: Iterable[Place]) -> bool:
    """Fill in missing fields, or remove the mappings that lack them. Return whether it worked."""
    for place in missing:
        inside = _at(rest, place[:-1])
        if place[-1] in _STAND_INS and isinstance(inside, dict):
            inside[place[-1]] = copy.deepcopy(_STAND_INS[str(place[-1])])
        elif not _leave_out(rest, place[:-1]):
            return False
    return True


def _leave_out(rest: dict[str, Any], place: Place) -> bool:
    """Remove a field. For a member of a list, remove the field that has the list.

    Return whether a field was removed.
    """
    while place:
        inside = _at(rest, place[:-1])
        if isinstance(inside, dict):
            # pydantic names a key that is not text as text.
            for key in [key for key in inside if key == place[-1] or str(key) == str(place[-1])]:
                del inside[key]
            return True
        place = place[:-1]
    return False


def _at(rest: Any, place: Place) -> Any:
    """Return the value at a place, or None if there is none any more."""
    for name in place:
        if isinstance(rest, Mapping):
            rest = rest.get(name)
        elif isinstance(rest, Sequence) and isinstance(name, int) and name < len(rest):
            rest = rest[name]
        else:
            return None
    return rest
