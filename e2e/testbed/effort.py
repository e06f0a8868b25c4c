"""How often an operator asks, held against the pauses that it promises to make.

A pause is the least time between two requests. On a busy machine it takes longer, and the operator
asks less; so no machine is too slow for these bounds. An operator that leaves a pause out exceeds
them many times.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from testbed.faults import Asked

WATCH_SECONDS = 1.0
"""From the begin of one watch to the begin of the next."""
RETRY_SECONDS = 1.0
"""After a request of kopf's that failed."""
COMPARE_SECONDS = 2.0
"""From one comparison with the cluster to the next."""
LOOK_SECONDS = 2.0
"""From one look for the CRD to the next."""
PASS_SECONDS, LONGEST_PASS_SECONDS = 0.4, 48.0
"""After a pass that failed; each failure in a row doubles it, up to the longest. The operator says
0.5 and 60, and draws up to a fifth less."""
RENEWALS = 7.5
"""How often a Lease is renewed while it lasts, at most."""

BEGINNINGS = 2
"""Requests of one kind that a process may make before its first pause, or had under way."""
MOST_IN_A_PASS = 20
"""Requests of one pass over a job of three tasks: two trial pods, a Service, a status, reading,
deleting and creating each pod, and the events that tell of it."""
MOST_AT_ONCE = 3
"""Successful passes over one job in a row that want the next one at once: each has done something
of which it will not hear otherwise."""
SHORTEST_SECONDS = 0.2
"""The shortest pause that a successful pass makes when nothing has changed: `restartBackoff` of
the jobs here."""

_PASS = re.compile(r" \S+/(?P<job>[a-z-]+): .*?(?P<ok>pass done, )?again in (?P<seconds>\S+)")


@dataclass(frozen=True)
class Pass:
    """A pass, as the log tells of it."""

    job: str
    succeeded: bool
    again_seconds: float | None
    """The pause until the next pass; None if only a change brings it."""


@dataclass(frozen=True)
class Effort:
    """What an operator has done in the last `seconds`."""

    seconds: float
    lives: int
    """How many processes it has been in that time."""
    lease_seconds: float
    asked: Sequence[Asked]
    changes: int
    """How often one of its jobs or their pods has changed in that time."""
    log: str
    """What it has logged in that time, with --verbose."""

    def excess(self) -> list[str]:
        """Say what it has done more often than its pauses allow."""
        return [*self._requests(), *self._passes(), *self._impatience()]

    def _requests(self) -> Iterator[str]:
        counts = Counter(_kind(one) for one in self.asked)
        for (kind, path), count in counts.items():
            if kind != "pass" and count > (most := self._allowed(*self._pauses(kind))):
                yield f"{count} requests to {kind} {path}, and at most {most} are allowed"
        count = sum(count for (kind, _), count in counts.items() if kind == "pass")
        passes = sum(len(life) for life in self._logged())
        # Passes under way are not logged yet, and those of a process that ended never will be.
        if count > (most := MOST_IN_A_PASS * (passes + BEGINNINGS * self.lives)):
            yield f"{count} requests in {passes} passes, and at most {most} are allowed"

    def _pauses(self, kind: str) -> tuple[float, ...]:
        """The pauses of all parts of the operator that make requests of this kind."""
        match kind:
            case "watch":
                return (WATCH_SECONDS,)
            case "list":
                # kopf lists after a watch and after a list that failed; comparisons list as well.
                return (WATCH_SECONDS, RETRY_SECONDS, COMPARE_SECONDS)
            case "renew":
                # Once more when it expires: another's that is waited for, or its own that is lost.
                return (self.lease_seconds / RENEWALS, self.lease_seconds)
            case _:
                return (RETRY_SECONDS, LOOK_SECONDS)

    def _allowed(self, *pauses: float) -> int:
        return sum(BEGINNINGS * self.lives + int(self.seconds / pause) for pause in pauses)

    def _passes(self) -> Iterator[str]:
        """A pass is made for a change, a comparison, a listed object, or after its own pause."""
        listed = 4 * self._allowed(WATCH_SECONDS) + self._allowed(COMPARE_SECONDS)
        most = self.changes + listed + self._allowed(SHORTEST_SECONDS)
        passes = [one for life in self._logged() for one in life]
        for job, count in Counter(one.job for one in passes).items():
            if count > most:
                yield f"{count} passes over {job}, and at most {most} are allowed"
        in_a_row: Counter[str] = Counter()
        for one in passes:
            in_a_row[one.job] = in_a_row[one.job] + 1 if one.again_seconds == 0 else 0
            if in_a_row[one.job] > MOST_AT_ONCE:
                yield f"{in_a_row[one.job]} passes over {one.job} in a row want the next at once"

    def _impatience(self) -> Iterator[str]:
        """The pause after a failure must be twice the pause after the failure before."""
        for life in self._logged():
            failures: Counter[str] = Counter()
            for one in life:
                if one.succeeded or one.again_seconds is None:
                    failures[one.job] = 0
                    continue
                least = min(PASS_SECONDS * 2.0 ** failures[one.job], LONGEST_PASS_SECONDS)
                failures[one.job] += 1
                # The log rounds to tenths.
                if one.again_seconds < least - 0.06:
                    number = failures[one.job]
                    yield f"after {number} failures, {one.job} paused {one.again_seconds} s only"

    def _logged(self) -> list[list[Pass]]:
        """The passes of each process, as far as they are logged."""
        lives = self.log.split(": leading\n")
        return [[_pass(found) for found in map(_PASS.search, life.splitlines()) if found]
                for life in lives]  # fmt: skip


def _pass(found: re.Match[str]) -> Pass:
    seconds = None if found["seconds"] == "None" else float(found["seconds"])
    return Pass(found["job"], bool(found["ok"]), seconds)


def _kind(asked: Asked) -> tuple[str, str]:
    """What a request is for, and what it asks for."""
    if asked.resource == "leases":
        return "renew", f"{asked.verb} {asked.path}"
    if asked.resource == "":
        return "look for", asked.path
    if asked.verb in ("watch", "list"):
        return asked.verb, asked.path
    return "pass", asked.path
