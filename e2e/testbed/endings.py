"""What became of a job in the end, without what is of one job, one place or one moment."""

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
"""Fields that differ between two jobs of which the same is true."""

_WORDS = (
    (re.compile(r"\bfake-\d+\b|\bJOB-[ab]\b"), "NODE"),
    (re.compile(r"\bin \d+(\.\d+)? s\b"), "SOON"),
    (re.compile(r"\bkube-api-access-\w+"), "kube-api-access"),
)


@dataclass(frozen=True)
class Ending:
    """What there is of a job, and how often each event was told."""

    state: str
    told: Counter[str]

    @classmethod
    def of(
        cls, job: Json, pods: Iterable[Json], service: Json | None, events: Iterable[Json]
    ) -> "Ending":
        """Take what there is; of the events, those that are about the job."""
        uid = job["metadata"]["uid"]
        names = {job["metadata"]["name"]: "JOB", job["metadata"]["namespace"]: "SPACE"}
        what = {
            "status": job.get("status"),
            "service": service,
            "pods": sorted(pods, key=lambda pod: pod["metadata"]["name"]),
        }
        its = [event for event in events if event["regarding"].get("uid") == uid]
        told = (_essence(f"{one['type']} {one['reason']}: {one['note']}", names) for one in its)
        return cls(json.dumps(_essence(what, names), indent=1, sort_keys=True), Counter(told))

    def assert_like(self, uncut: "Ending", when: object) -> None:
        """Raise AssertionError unless this is the same end, and nothing was told twice."""
        lines = [ending.state.splitlines() for ending in (uncut, self)]
        difference = "\n".join(difflib.unified_diff(*lines, "uncut", str(when), lineterm="", n=2))
        assert not difference, difference
        more = self.told - uncut.told
        assert not more, f"{when}: told more often than uncut: {more}"


def _essence(what: Any, names: Mapping[str, str]) -> Any:
    match what:
        case dict():
            if what.get("state") == "Stopped":
                # How it ended is known if somebody looked in time, and matters to nobody.
                what = {key: what[key] for key in what if key not in ("exitCode", "reason")}
            kept = {key: _essence(value, names) for key, value in what.items()}
            return {key: kept[key] for key in kept if not _OF_THE_MOMENT.fullmatch(key)}
        case list():
            listed = [_essence(one, names) for one in what]
            is_map = all(isinstance(one, dict) and "type" in one for one in listed)
            return sorted(listed, key=lambda one: one["type"]) if is_map else listed
        case str():
            for name, word in names.items():
                what = re.sub(rf"\b{re.escape(name)}\b", word, what)
            for pattern, word in _WORDS:
                what = pattern.sub(word, what)
    return what
