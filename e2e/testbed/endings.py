"""The end of a job in a form that two jobs can be compared by: without names, nodes and times."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_IGNORED_FIELDS = re.compile(
    r"uid|resourceVersion|generation|managedFields|.*Time|.*Timestamp|.*At|.*IPs?"
    r"|runningSeconds|nodeName|node|containerID|capstan.dev/job-uid"
)
"""Fields that differ between two jobs with the same end."""

_WORDS = (
    (re.compile(r"\bfake-\d+\b|\bJOB-[ab]\b"), "NODE"),
    (re.compile(r"\bin \d+(\.\d+)? s\b"), "SOON"),
    (re.compile(r"\bkube-api-access-\w+"), "kube-api-access"),
    (re.compile(r"\bJOB-cluster-[0-9a-f]{8}\b"), "JOB-cluster-UID"),
    (re.compile(r"-tls-[0-9a-f]{8}\b"), "-tls-UID"),
)


@dataclass(frozen=True)
class Ending:
    """A job with its Service, its pods and its certificates as JSON, and counts of its events."""

    state: str
    events: Counter[str]

    @classmethod
    def of(
        cls,
        job: Json,
        pods: Iterable[Json],
        service: Json | None,
        events: Iterable[Json],
        certificates: Json | None = None,
    ) -> "Ending":
        """Return the ending of a job with these objects. Ignore events about other objects."""
        uid = job["metadata"]["uid"]
        names = {job["metadata"]["name"]: "JOB", job["metadata"]["namespace"]: "SPACE"}
        state = {
            "status": job.get("status"),
            "service": service,
            "certificates": certificates,
            "pods": sorted(pods, key=lambda pod: pod["metadata"]["name"]),
        }
        own_events = [event for event in events if event["regarding"].get("uid") == uid]
        lines = (f"{event['type']} {event['reason']}: {event['note']}" for event in own_events)
        counts = Counter(_normalised(line, names) for line in lines)
        return cls(json.dumps(_normalised(state, names), indent=1, sort_keys=True), counts)

    def assert_like(self, uncut: "Ending", when: object) -> None:
        """Raise AssertionError unless this is the same end as `uncut` and no event was reported
        more often than in `uncut`. The message names this ending with `when`.
        """
        lines = [ending.state.splitlines() for ending in (uncut, self)]
        difference = "\n".join(difflib.unified_diff(*lines, "uncut", str(when), lineterm="", n=2))
        assert not difference, difference
        more = self.events - uncut.events
        assert not more, f"{when}: events reported more often than without a cut: {more}"


def _normalised(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case dict():
            if value.get("state") == "Stopped":
                # An operator that takes over late does not know how a stopped pod ended.
                value = {key: value[key] for key in value if key not in ("exitCode", "reason")}
            kept = {_word(key, names): _normalised(inner, names) for key, inner in value.items()}
            return {key: kept[key] for key in kept if not _IGNORED_FIELDS.fullmatch(key)}
        case list():
            listed = [_normalised(inner, names) for inner in value]
            is_map = all(isinstance(inner, dict) and "type" in inner for inner in listed)
            return sorted(listed, key=lambda inner: inner["type"]) if is_map else listed
        case str():
            return _word(value, names)
    return value


def _word(value: str, names: Mapping[str, str]) -> str:
    for name, word in names.items():
        value = re.sub(rf"\b{re.escape(name)}\b", word, value)
    for pattern, word in _WORDS:
        value = pattern.sub(word, value)
    return value
