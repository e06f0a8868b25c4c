"""What is left of a document without its faulty values, so that more faults of it can be found.

Rule 1: what is left is looked at and never run.
Rule 2: nothing moves: an item that stays in a list stays where it was, and paths stay true.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pydantic
from pydantic_core import ErrorDetails

from capstan_operator.api.spec import TrainingJob

_STAND_INS: Mapping[str, Any] = {"metadata": {}, "name": "unnamed"}
"""Required fields that say nothing of how a task is started: a missing one must not end the look at
all that stands beside it."""

_ATTEMPTS = 16
"""More than a TrainingJob is deep: each leaves out at least one level of what cannot be read."""

Place = tuple[int | str, ...]


def part(raw: Mapping[str, Any]) -> TrainingJob | None:
    """Return the job that is left of a document; None when too little is."""
    rest = copy.deepcopy(dict(raw))
    for _ in range(_ATTEMPTS):
        try:
            return TrainingJob.model_validate(rest, by_alias=True, by_name=False)
        except pydantic.ValidationError as error:
            places = {one["loc"]: one["type"] for one in causes(error)}
        missing = [place for place, kind in places.items() if kind == "missing"]
        if not _without(rest, places.keys() - set(missing)) or not _completed(rest, missing):
            return None
    return None


def causes(error: pydantic.ValidationError) -> list[ErrorDetails]:
    """Return the errors that are no consequence of others: a list of nothing but faulty items is
    also called empty.
    """
    every = error.errors(include_url=False)
    return [one for one in every if one["type"] != "too_short" or not one["input"]]


def _without(rest: dict[str, Any], places: Iterable[Place]) -> bool:
    """Leave out what stands at the places. Return whether that was possible."""
    return all(_leave_out(rest, place) for place in places)


def _completed(rest: dict[str, Any], missing: Iterable[Place]) -> bool:
    """Put something where something is missing, or leave out what lacks it."""
    for place in missing:
        inside = _at(rest, place[:-1])
        if place[-1] in _STAND_INS and isinstance(inside, dict):
            inside[place[-1]] = copy.deepcopy(_STAND_INS[str(place[-1])])
        elif not _leave_out(rest, place[:-1]):
            return False
    return True


def _leave_out(rest: dict[str, Any], place: Place) -> bool:
    """Leave out a field; for an item of a list, the field that has the list."""
    while place:
        inside = _at(rest, place[:-1])
        if isinstance(inside, dict):
            # A key that is no text stands in the place as text.
            for key in [key for key in inside if key == place[-1] or str(key) == str(place[-1])]:
                del inside[key]
            return True
        place = place[:-1]
    return False


def _at(rest: Any, place: Place) -> Any:
    """Return what stands at a place; None where there is nothing any more."""
    for name in place:
        if isinstance(rest, Mapping):
            rest = rest.get(name)
        elif isinstance(rest, Sequence) and isinstance(name, int) and name < len(rest):
            rest = rest[name]
        else:
            return None
    return rest
