"""The places for the requests that are sent at once. The other requests wait in order.

A namespace may be slow, for example because a webhook takes seconds for each of its pods. Its
requests must not take all places, because the requests of other namespaces would wait for them.
"""

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator

from capstan_operator.kube import paths

OF_A_NAMESPACE = 32
"""The most requests of one namespace that are sent at once. The number is a guess that keeps a fast
API server busy."""
MOST = OF_A_NAMESPACE + 8
"""The most requests that are sent at once."""


class InFlight:
    """The places of one event loop."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(MOST)
        self._namespaces = weakref.WeakValueDictionary[str, asyncio.Semaphore]()
        """The places of each namespace that has any request."""

    @contextlib.asynccontextmanager
    async def place(self, path: str) -> AsyncIterator[None]:
        """Wait for a place for a request of this path, and keep the place while the block runs."""
        namespace = paths.namespace(path)
        own = self._namespaces.get(namespace)
        if own is None:
            own = self._namespaces[namespace] = asyncio.Semaphore(OF_A_NAMESPACE)
        async with own, self._all:
            yield
