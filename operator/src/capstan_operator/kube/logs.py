"""Read the log of a container, line by line, while it is written."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import aiohttp

from capstan_operator.kube import errors, paths
from capstan_operator.kube.rest import CONNECT_SECONDS, Rest

_MOST_OF_A_REFUSAL = 1 << 16


async def lines(rest: Rest, namespace: str, pod: str, **query: str) -> AsyncIterator[bytes]:
    """Yield the lines of a log without their ends. `query` are parameters of the API.

    With `follow`, the lines end when the container ends, and perhaps earlier: the kubelet may close
    the stream. There is no time limit between two lines. Raises kube.errors.ApiError.
    """
    connection = await rest.connection()
    path = paths.pod_log(namespace, pod)
    headers = {"User-Agent": "capstanctl"}
    if connection.authorization is not None:
        headers["Authorization"] = connection.authorization
    timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS)
    options: dict[str, Any] = {"ssl": connection.tls, "proxy": connection.proxy_url}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
            session.get(f"{connection.server}{path}", params=query, **options) as answer,
        ):
            if answer.status >= 300:
                body = await answer.content.read(_MOST_OF_A_REFUSAL)
                request = f"get {path}"
                raise errors.of_answer(
                    request, answer.status, answer.headers, body, datetime.now(UTC)
                )
            rest_of_line = b""
            async for chunk in answer.content.iter_any():
                *complete, rest_of_line = (rest_of_line + chunk).split(b"\n")
                for line in complete:
                    yield line
            if rest_of_line:
                yield rest_of_line
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        message = (
            f"{connection.server} closed the connection ({str(error) or type(error).__name__})"
        )
        raise errors.Unavailable(message, request=f"get {path}", status=0) from error
