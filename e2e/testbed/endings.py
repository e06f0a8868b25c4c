"""The end of a job, without all that is true of one job, one place or one moment only."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_OF_THE_MOMENT = re.compile(
    r"uid|resourceVersion|generation|managedFields|.*Time|.*Timestamp|.*At|.*IPs?"
    r"|nodeName|node|containerID|capstan.dev/job-uid"
)
"""Fields that differ between two jobs that came to the same end."""

_WORDS = (
    (re.compile(r"\bfake-\d+\b|\bJOB-[ab]\b"), "NODE"),
    (re.compile(r"\bin \d+(\.\d+)? s\b"), "SOON"),
    (re.compile(r"\bkube-api-access-\w+"), "kube-api-access"),
)


@dataclass(frozen=True)
class Ending:
    """A job with its Service and pods, and how often each event was told."""

    state: str
    told: Counter[str]

    @classmethod
    def of(
        cls, job: Json, pods: Iterable[Json], service: Json | None, events: Iterable[Json]
    ) -> "Ending":
        """Take the objects, and of the events those that are about the job."""
        uid = job["metadata"]["uid"]
        names = {job["metadata"]["name"]: "JOB", job["metadata"]["namespace"]: "SPACE"}
        state = {
            "status": job.get("status"),
            "service": service,
            "pods": sorted(pods, key=lambda pod: pod["metadata"]["name"]),
        }
        its = [event for event in events if event["regarding"].get("uid") == uid]
        lines = (f"{event['type']} {event['reason']}: {event['note']}" for event in its)
        told = Counter(_essence(line, names) for line in lines)
        return cls(json.dumps(_essence(state, names), indent=1, sort_keys=True), told)

    def assert_like(self, uncut: "Ending", when: object) -> None:
        """Raise AssertionError unless this is the same end, and nothing was told twice."""
        lines = [ending.state.splitlines() for ending in (uncut, self)]
        difference = "\n".join(difflib.unified_diff(*lines, "uncut", str(when), lineterm="", n=2))
        assert not difference, difference
        more = self.told - uncut.told
        assert not more, f"{when}: told more often than uncut: {more}"


def _essence(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case dict():
            if value.get("state") == "Stopped":
                # An operator that looks late does not know how a stopped pod ended.
                value = {key: value[key] for key in value if key not in ("exitCode", "reason")}
            kept = {key: _essence(inner, names) for key, inner in value.items()}
            return {key: kept[key] for key in kept if not _OF_THE_MOMENT.fullmatch(key)}
        case list():
            listed = [_essence(inner, names) for inner in value]
            is_map = all(isinstance(inner, dict) and "type" in inner for inner in listed)
            return sorted(listed, key=lambda inner: inner["type"]) if is_map else listed
        case str():
            for name, word in names.items():
                value = re.sub(rf"\b{re.escape(name)}\b", word, value)
            for pattern, word in _WORDS:
                value = pattern.sub(word, value)
    return value
