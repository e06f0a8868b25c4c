"""The body of a watch, in which bookmarks take the place of the changes that it reports.

A bookmark tells kopf from which version on it must watch after the connection has ended. kopf does
nothing else with bookmarks.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

import aiohttp
import pydantic_core

KINDS = frozenset({"ADDED", "MODIFIED", "DELETED"})


class Change(NamedTuple):
    """A change of an object: its kind (ADDED, MODIFIED or DELETED), and the object after it.

    DELETED comes with the last version of the object.
    """

    kind: str
    manifest: dict[str, Any]


class Changes:
    """A stream of the lines of a watch. The changes among them go to `tell`.

    Lines that are not changes are passed on as they are, also those that no API server writes.
    """

    def __init__(
        self, body: aiohttp.StreamReader, tell: Callable[[Sequence[Change]], None]
    ) -> None:
        self._body = body
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stream that kopf would have read."""
        return getattr(self._body, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Yield whole lines as soon as they arrive."""
        rest = b""
        async for chunk in self._body.iter_chunked(size):
            *lines, rest = (rest + chunk).split(b"\n")
            yield b"".join(self._without_changes(lines))
        yield b"".join(self._without_changes([rest] if rest else []))

    def _without_changes(self, lines: Sequence[bytes]) -> list[bytes]:
        """Pass the changes among some lines to `tell`. Return the lines that kopf reads instead."""
        changes: list[Change] = []
        read: list[bytes] = []
        at = 0
        for line in lines:
            change = _change(line)
            if change is None:
                read.append(line + b"\n")
            else:
                changes.append(change)
                at = len(read)
        if changes:
            self._tell(changes)
            # One bookmark stands for all changes, in the place of the last one.
            read.insert(at, _bookmark(changes[-1]))
        return read


def _change(line: bytes) -> Change | None:
    """Return the change that a line reports, or None."""
    try:
        event = pydantic_core.from_json(line)
        if event["type"] in KINDS and event["object"]["metadata"]["resourceVersion"]:
            return Change(event["type"], event["object"])
    except (KeyError, TypeError, ValueError):
        return None
    return None


def _bookmark(change: Change) -> bytes:
    version = {"resourceVersion": change.manifest["metadata"]["resourceVersion"]}
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": version}}).encode() + b"\n"
