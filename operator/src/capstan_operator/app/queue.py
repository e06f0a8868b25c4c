"""The jobs to work on, each at most once.

The queue behaves as client-go's rate limited work queue, on which all controllers rely. A key that
is added again while it waits is still one entry. A key that is added while it is worked on comes
back once, and is never worked on twice at the same time. A key that fails comes back after pauses
that grow. Namespaces take turns (`turns`).
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable

from capstan_operator.kube.table import Key
from capstan_operator.kube.turns import Turns

MOST_OF_A_NAMESPACE = 8
"""The most keys of one namespace that are worked on at once."""
WORKERS = 24
"""The most keys that are worked on at once. Both numbers are guesses: a worker mostly waits for
answers. `Turns` keeps workers for other namespaces while some namespaces are slow."""

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 60.0
SPREAD = 0.2
OFTEN = 5
"""A key counts as failing after this many failures in a row, some 15 seconds after the first one. A
single failure is normal: objects change meanwhile, and API servers restart."""
LONG = 8
"""After this many failures in a row, two minutes after the first one, an event of the job says so.
The number is a guess: most outages of an API server are shorter."""
SOON_SECONDS = 0.1
"""The longest time that a change waits for others of the same job. The number is a guess: a person
does not notice the time."""


class WorkQueue:
    """The work queue of one event loop. `clock` returns the loop's time in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._turns = Turns[Key](WORKERS, MOST_OF_A_NAMESPACE)
        self._added: dict[Key, float] = {}
        self._busy: dict[Key, float] = {}
        self._taken: dict[Key, float] = {}
        self._last_taken = clock()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._soon: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._idle: deque[asyncio.Future[None]] = deque()
        """The workers that wait for a key, the first one first."""

    @property
    def depth(self) -> int:
        """The number of keys that wait for a worker."""
        return len(self._added)

    @property
    def oldest_seconds(self) -> float:
        """How many seconds the oldest key has waited or been worked on, or 0 without keys."""
        since = [*self._added.values(), *self._busy.values()]
        return self._clock() - min(since) if since else 0.0

    @property
    def stuck_seconds(self) -> float:
        """How long the oldest pass has taken, or how long no worker has taken a key that waits.

        The longer time counts; without keys, it is 0. While workers take keys, a key may wait for
        long: thousands of jobs of several slow namespaces wait for one another.
        """
        waiting = self._added.items()
        offered = [at for key, at in waiting if self._turns.may_take(key.namespace)]
        idle = [max(min(offered), self._last_taken)] if offered else []
        return self._clock() - min([*idle, *self._taken.values()], default=self._clock())

    @property
    def failing(self) -> int:
        """The number of keys that have failed at least `OFTEN` times in a row."""
        return sum(failures >= OFTEN for failures in self._failures.values())

    def failures(self, key: Key) -> int:
        """Return how many times in a row a key has failed."""
        return self._failures.get(key, 0)

    def has_failed_for_long(self, key: Key) -> bool:
        """Return True after the failure that makes the failures of a key long, and only then."""
        return self.failures(key) == LONG

    def add(self, key: Key) -> None:
        """Have a key worked on as soon as a worker is free."""
        if key in self._added:
            return
        self._added[key] = self._clock()
        if key not in self._busy:
            self._offer(key)

    def add_soon(self, key: Key) -> None:
        """Add the key after `SOON_SECONDS`, unless a worker takes the key earlier.

        Changes of many pods of a job within this time cause one pass.
        """
        if key not in self._added and key not in self._soon:
            loop = asyncio.get_running_loop()
            self._soon[key] = loop.call_later(SOON_SECONDS, self.add, key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Add the key after `seconds`. An earlier `add_after` of the key has no effect any more."""
        self._forget_timer(key)
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(max(seconds, 0.0), self._ring, key)

    async def get(self) -> Key:
        """Wait for the next key and take it. The caller gives it back with `done` or `failed`."""
        while (key := self._turns.take()) is None:
            idle = asyncio.get_running_loop().create_future()
            self._idle.append(idle)
            await idle
        if (soon := self._soon.pop(key, None)) is not None:
            soon.cancel()
        self._busy[key] = self._added.pop(key)
        self._taken[key] = self._last_taken = self._clock()
        if self._added:
            # A place that was given back may let several keys be taken.
            self._wake()
        return key

    def done(self, key: Key, again_seconds: float | None) -> None:
        """Give back a key after a pass that succeeded, and add it again after `again_seconds`.

        If `again_seconds` is None, the key comes back only when another caller adds it.
        """
        self._failures.pop(key, None)
        self._give_back(key)
        if again_seconds is None:
            self._forget_timer(key)
        else:
            self.add_after(key, again_seconds)

    def failed(self, key: Key, at_least_seconds: float = 0.0) -> float:
        """Give back a key after a pass that failed. Return the seconds until it comes back."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        # The exponent is bounded, because the power overflows after many failures.
        backoff = min(FIRST_SECONDS * 2.0 ** min(failures - 1, 16), LONGEST_SECONDS)
        seconds = max(backoff * random.uniform(1 - SPREAD, 1), at_least_seconds)
        self._give_back(key)
        self.add_after(key, seconds)
        return seconds

    def _ring(self, key: Key) -> None:
        """Add a key whose time has come."""
        self._timers.pop(key, None)
        self.add(key)

    def _give_back(self, key: Key) -> None:
        del self._busy[key], self._taken[key]
        self._turns.give_back(key.namespace)
        if key in self._added:
            self._turns.offer(key)
        self._wake()

    def _offer(self, key: Key) -> None:
        """Let a worker take the key."""
        self._turns.offer(key)
        self._wake()

    def _wake(self) -> None:
        """Wake one worker, because a key more may be taken. The worker waits again if none may."""
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return

    def _forget_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
