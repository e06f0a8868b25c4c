"""Compare the number of an operator's requests with the pauses that the operator promises.

A pause is the least time between two requests. On a busy machine the operator makes fewer requests,
so no machine is too slow for these bounds. An operator that leaves out a pause exceeds them many
times.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from testbed.faults import Request

WATCH_SECONDS = 1.0
"""The pause from the start of one watch to the start of the next."""
RETRY_SECONDS = 1.0
"""The pause after a failed request of kopf."""
COMPARE_SECONDS = 2.0
"""The pause between two comparisons of the operator's cache with the cluster."""
LOOK_SECONDS = 2.0
"""The pause between two requests that ask whether the API server has the CRD."""
PASS_SECONDS, LONGEST_PASS_SECONDS = 0.4, 48.0
"""The pause after a failed pass. Each further failure doubles it, up to LONGEST_PASS_SECONDS. The
operator's own limits are 0.5 and 60 s, and a random pause is up to a fifth shorter."""
RENEWALS = 7.5
"""The most renewals of a Lease within its duration."""

BEGINNINGS = 2
"""The requests of one kind that a process may make before its first pause or have under way."""
MOST_IN_A_PASS = 20
"""The most requests of one pass over a job of three tasks: two trial pods, a Service, a status,
reads, deletions and creations of each pod, and the events about them."""
MOST_AT_ONCE = 3
"""The most successful passes over one job in a row that ask for another pass at once. Such a pass
has done something that no watch will report."""
SHORTEST_SECONDS = 0.2
"""The shortest pause after a successful pass when nothing has changed. It is the `restartBackoff`
of the jobs here."""

_PASS = re.compile(r" \S+/(?P<job>[a-z-]+): .*?(?P<ok>pass done, )?again in (?P<seconds>\S+)")


@dataclass(frozen=True)
class Pass:
    """A pass of the operator over a job, as its log shows it."""

    job: str
    succeeded: bool
    again_seconds: float | None
    """The pause until the next pass. None if the operator waits for a change."""


@dataclass(frozen=True)
class Effort:
    """The requests and the log of an operator during the last `seconds`."""

    seconds: float
    lives: int
    """The number of the operator's processes in that time."""
    lease_seconds: float
    requests: Sequence[Request]
    changes: int
    """The number of changes of the operator's jobs and their pods in that time."""
    log: str
    """The operator's log of that time, with --verbose."""

    def excess(self) -> list[str]:
        """Describe everything that the operator did more often than its pauses allow."""
        return [*self._excess_requests(), *self._excess_passes(), *self._short_pauses()]

    def _excess_requests(self) -> Iterator[str]:
        counts = Counter(_kind(request) for request in self.requests)
        broken = Counter(_kind(request) for request in self.requests if request.broken)
        for (kind, path), count in counts.items():
            # If the connection of a GET, PUT or DELETE breaks, aiohttp repeats the request once,
            # without a pause. At most half of the requests are therefore repetitions.
            repeated = min(broken[kind, path], count // 2)
            if kind != "pass" and count > (most := self._allowed(*self._pauses(kind)) + repeated):
                yield f"{count} requests to {kind} {path}, and at most {most} are allowed"
        count = sum(count for (kind, _), count in counts.items() if kind == "pass")
        passes = sum(len(life) for life in self._logged_passes())
        # The log lacks each pass that has not ended, because it still runs or its process ended.
        if count > (most := MOST_IN_A_PASS * (passes + BEGINNINGS * self.lives)):
            yield f"{count} requests in {passes} passes, and at most {most} are allowed"

    def _pauses(self, kind: str) -> tuple[float, ...]:
        """Return the pauses of all parts of the operator that make requests of this kind."""
        match kind:
            case "watch":
                return (WATCH_SECONDS,)
            case "list":
                # kopf lists after each watch and after a failed list. Comparisons list as well.
                return (WATCH_SECONDS, RETRY_SECONDS, COMPARE_SECONDS)
            case "renew":
                # One more request when the Lease expires: a standby takes the Lease, or the
                # leader finds that it has lost the Lease.
                return (self.lease_seconds / RENEWALS, self.lease_seconds)
            case _:
                return (RETRY_SECONDS, LOOK_SECONDS)

    def _allowed(self, *pauses: float) -> int:
        return sum(BEGINNINGS * self.lives + int(self.seconds / pause) for pause in pauses)

    def _excess_passes(self) -> Iterator[str]:
        """Describe the jobs with too many passes. The reasons for a pass are a change, a
        comparison, a listed object, and the end of the pause after the last pass.
        """
        listed = 4 * self._allowed(WATCH_SECONDS) + self._allowed(COMPARE_SECONDS)
        most = self.changes + listed + self._allowed(SHORTEST_SECONDS)
        passes = [logged for life in self._logged_passes() for logged in life]
        for job, count in Counter(logged.job for logged in passes).items():
            if count > most:
                yield f"{count} passes over {job}, and at most {most} are allowed"
        in_a_row: Counter[str] = Counter()
        for logged in passes:
            job = logged.job
            in_a_row[job] = in_a_row[job] + 1 if logged.again_seconds == 0 else 0
            if in_a_row[job] > MOST_AT_ONCE:
                yield f"{in_a_row[job]} passes over {job} in a row ask for another pass at once"

    def _short_pauses(self) -> Iterator[str]:
        """Describe the pauses after failures that are not twice the pause before them."""
        for life in self._logged_passes():
            failures: Counter[str] = Counter()
            for logged in life:
                job, pause = logged.job, logged.again_seconds
                if logged.succeeded or pause is None:
                    failures[job] = 0
                    continue
                least = min(PASS_SECONDS * 2.0 ** failures[job], LONGEST_PASS_SECONDS)
                failures[job] += 1
                # The log rounds to tenths.
                if pause < least - 0.06:
                    yield f"after {failures[job]} failures, {job} paused for only {pause} s"

    def _logged_passes(self) -> list[list[Pass]]:
        """Return the logged passes of each process."""
        lives = self.log.split(": leading\n")
        return [[_pass(match) for match in map(_PASS.search, life.splitlines()) if match]
                for life in lives]  # fmt: skip


def _pass(match: re.Match[str]) -> Pass:
    seconds = None if match["seconds"] == "None" else float(match["seconds"])
    return Pass(match["job"], bool(match["ok"]), seconds)


def _kind(request: Request) -> tuple[str, str]:
    """Return the purpose of a request, and its path."""
    if request.resource == "leases":
        return "renew", f"{request.verb} {request.path}"
    if request.resource == "":
        return "look for", request.path
    if request.verb in ("watch", "list"):
        return request.verb, request.path
    return "pass", request.path
