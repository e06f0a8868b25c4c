"""Answers that kopf cannot get over, and would end the process for.

It gets over faults of the network. So it is told of one in place of such an answer.
"""

import json
from collections.abc import AsyncIterator
from typing import Any, cast

import aiohttp

LONGEST_AFTER_SECONDS = 60.0
"""Of what an answer may ask for by Retry-After: a gateway that names a day must not stop a job, nor
a watch."""


def check(answer: aiohttp.ClientResponse, *, is_watch: bool) -> None:
    """Raise an error that kopf gets over for an answer that it does not.

    aiohttp.ClientPayloadError     a LIST that got too old between two pages: kopf lists anew
    aiohttp.ClientConnectionError  too many requests, and a Retry-After that is a date, or far away;
                                   or a page of a proxy: kopf asks again, after pauses of its own
    """
    if answer.status == 410 and not is_watch:
        answer.close()
        raise aiohttp.ClientPayloadError("the list expired before its last page")
    after = answer.headers.get("Retry-After")
    if answer.status == 429 and after is not None and not _is_soon(after):
        answer.close()
        raise aiohttp.ClientConnectionError(f"too many requests, and Retry-After: {after}")
    if answer.ok and "json" not in answer.content_type:
        answer.close()
        raise aiohttp.ClientConnectionError(
            f"an answer of type {answer.content_type}; is it a Kubernetes API server?"
        )


def keep_whole_lines(answer: aiohttp.ClientResponse) -> None:
    """Have what a watch tells end before a line that is cut off."""
    answer.content = cast(aiohttp.StreamReader, _WholeLines(answer.content))


def _is_soon(after: str) -> bool:
    return after.isdecimal() and int(after) <= LONGEST_AFTER_SECONDS


class _WholeLines:
    """A stream of which kopf reads chunks, and aiohttp all else."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._content.iter_chunked(size):
            lines, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline:
                yield lines + newline
        if _is_document(rest):
            yield rest


def _is_document(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
