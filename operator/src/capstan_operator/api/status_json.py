"""A status as JSON: `render` writes it, `load` reads it.

`load` after `render` loses nothing, so that a controller can continue after a restart. The only
exception: `render` shortens texts for people, and leaves out failed and avoided nodes, in a status
that is too big for one object.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from capstan_operator.api.status import Status, TaskState, TaskStatus

TROUBLE = frozenset(
    {TaskState.STOPPING, TaskState.BACK_OFF, TaskState.CREATE_FAILED, TaskState.FAILED}
)
"""States that a user looks for: a table that is too big keeps rows in these states in full."""

MAX_BYTES = 1 << 20
"""The size limit of a status. etcd takes objects of 1.5 MiB, and the spec needs a part of this
size."""
SHORT_MESSAGE = 128
"""The most characters of a message after a status that is too big was shortened."""


def render(status: Status) -> dict[str, Any]:
    """Return a status as JSON values: camelCase keys, times as RFC 3339 text.

    Metrics that are not finite become the texts "NaN", "Infinity" and "-Infinity", because JSON has
    no such numbers. A status of more than MAX_BYTES is trimmed until it fits: first all messages
    are shortened and no row names a failed or avoided node, then healthy rows lose their messages,
    then their pod, node, step and waiting.
    """
    # Render the status as text first, because a dump to Python values keeps NaN as a number.
    text = _text(status)
    for trim in _TRIMS:
        if len(text.encode()) <= MAX_BYTES:
            break
        status = status.model_copy(update={"tasks": tuple(map(trim, status.tasks))})
        text = _text(status)
    return cast(dict[str, Any], json.loads(text))


def _text(status: Status) -> str:
    return status.model_dump_json(by_alias=True, exclude_none=True)


def _shortened(row: TaskStatus) -> TaskStatus:
    message = row.message[-SHORT_MESSAGE:]
    return row.model_copy(update={"message": message, "failed_node": "", "avoided_node": ""})


def _without_message(row: TaskStatus) -> TaskStatus:
    return row if row.state in TROUBLE else row.model_copy(update={"message": ""})


def _without_place(row: TaskStatus) -> TaskStatus:
    if row.state in TROUBLE:
        return row
    return row.model_copy(update={"node": "", "step": None, "pod": "", "waiting": ""})


# The order matters: fields that each pass observes again must be trimmed last. Otherwise a trimmed
# status would differ in the next pass, and would be written for ever.
_TRIMS = (_shortened, _without_message, _without_place)


def load(document: Mapping[str, Any]) -> Status:
    """Read a status that `render` wrote. Raises pydantic.ValidationError for anything else.

    Conditions of other writers are left out, because the list of conditions is shared.
    """
    return Status.model_validate(document, by_alias=True, by_name=False)
