"""Build Events of `events.k8s.io/v1` from news of a job; `kubectl describe` shows them. Pure."""

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
"""The most characters of a reason, and of the name of a reporting instance."""


def event(
    job: Mapping[str, Any], news: Announce, *, name: str, now: datetime, instance: str
) -> dict[str, Any]:
    """Build the Event for `news`. `instance` names this process.

    Use the same `name` for the same news, so that a second POST fails with AlreadyExists. A note
    of more than `MAX_NOTE_BYTES` is cut.
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
    """Return a time in the format of Kubernetes' MicroTime, which requires six decimals."""
    return now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _cut(text: str) -> str:
    raw = text.encode()
    if len(raw) <= MAX_NOTE_BYTES:
        return text
    end = "…"
    return raw[: MAX_NOTE_BYTES - len(end.encode())].decode(errors="ignore") + end
