"""The places for the requests that are sent at once. The other requests wait in order.

A namespace may be slow, for example because a webhook takes seconds for each of its pods. `turns`
keeps places for the requests of other namespaces, also if several namespaces are slow.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

from capstan_operator.kube import paths
from capstan_operator.kube.turns import Turns

OF_A_NAMESPACE = 32
"""The most requests of one namespace that are sent at once. The number is a guess that keeps a fast
API server busy."""
MOST = 48
"""The most requests that are sent at once. The number is a guess: while one namespace is slow, the
others have 16 places, and with three of them 7."""


class _Turn(NamedTuple):
    """A request that waits for its place."""

    namespace: str
    place: asyncio.Future[None]


class InFlight:
    """The places of one event loop."""

    def __init__(self) -> None:
        self._turns = Turns[_Turn](MOST, OF_A_NAMESPACE)

    @contextlib.asynccontextmanager
    async def place(self, path: str) -> AsyncIterator[None]:
        """Wait for a place for a request of this path, and keep the place while the block runs."""
        turn = _Turn(paths.namespace(path), asyncio.get_running_loop().create_future())
        self._turns.offer(turn)
        self._hand_out()
        try:
            await turn.place
        except asyncio.CancelledError:
            # The place may have been given just before the request was cancelled.
            if not turn.place.cancelled():
                self._give_back(turn)
            raise
        try:
            yield
        finally:
            self._give_back(turn)

    def _give_back(self, turn: _Turn) -> None:
        self._turns.give_back(turn.namespace)
        self._hand_out()

    def _hand_out(self) -> None:
        """Give places to all requests that may have one."""
        while (turn := self._turns.take()) is not None:
            if turn.place.cancelled():
                self._turns.give_back(turn.namespace)
            else:
                turn.place.set_result(None)
