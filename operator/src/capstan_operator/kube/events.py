"""News of a job to an Event of `events.k8s.io/v1`, which `kubectl describe` shows. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from capstan_operator.api import names
from capstan_operator.reconcile.actions import Announce

CONTROLLER = f"{names.GROUP}/operator"
ACTION = "Reconcile"
"""The action in every event. The API requires one."""

MAX_NOTE_BYTES = 1024
MAX_WORD = 128
"""Characters of a reason and of an instance's name."""


def event(
    job: Mapping[str, Any], news: Announce, *, name: str, now: datetime, instance: str
) -> dict[str, Any]:
    """Build the Event that tells of `news`; `instance` names this process.

    Give the same news the same `name`, so that posting it twice is an AlreadyExists. A note that is
    too long is cut.
    """
    metadata = job["metadata"]
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata["namespace"]},
        "eventTime": micro_time(now),
        "type": str(news.type),
        "reason": news.reason[:MAX_WORD],
        "note": _cut(news.message),
        "action": ACTION,
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:MAX_WORD],
        "regarding": {
            "apiVersion": f"{names.GROUP}/{names.VERSION}",
            "kind": names.KIND,
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        },
    }


def micro_time(now: datetime) -> str:
    """Write a time as Kubernetes' MicroTime, which wants all six digits."""
    return now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _cut(text: str) -> str:
    raw = text.encode()
    if len(raw) <= MAX_NOTE_BYTES:
        return text
    end = "…"
    return raw[: MAX_NOTE_BYTES - len(end.encode())].decode(errors="ignore") + end
