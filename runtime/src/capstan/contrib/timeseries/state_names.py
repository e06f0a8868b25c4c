"""The state of a model as tensors by name, such as `model_state_00`.

Source: contrib/timeseries/python/timeseries/head.py.
"""

import re
from collections.abc import Mapping
from typing import Any

from capstan.api import nest
from capstan.contrib.timeseries.feature_keys import State

_NUMBERED = re.compile(rf"{State.STATE_PREFIX}_(\d+)")


def state_to_dictionary(state_tuple: Any) -> dict[str, Any]:
    """Return the tensors or arrays of a state by name."""
    return {
        f"{State.STATE_PREFIX}_{number:02d}": each
        for number, each in enumerate(nest.flatten(state_tuple))
    }


def without_state(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors that are no part of a state."""
    return {name: each for name, each in tensors.items() if not _NUMBERED.fullmatch(name)}


def gathered(features: Mapping[str, Any], like: Any) -> tuple[dict[str, Any], bool]:
    """Return features with one state in the structure `like`, and whether it was in parts."""
    parts = {
        int(found[1]): each
        for name, each in features.items()
        if (found := _NUMBERED.fullmatch(name))
    }
    if not parts:
        return dict(features), False
    state = nest.pack_sequence_as(like, [parts[number] for number in sorted(parts)])
    return {**without_state(features), State.STATE_TUPLE: state}, True
