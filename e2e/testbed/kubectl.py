"""A run of kubectl that waits for a busy API server."""

import os
import pathlib
import subprocess
from collections.abc import Callable, Sequence

from testbed import wait

_PATIENCE = 120.0
"""The seconds that a busy server has to answer."""

_NOT_REACHED = "Unable to connect to the server: net/http: TLS handshake timeout\n"
"""The error of kubectl if the server has not answered for ten seconds. No request was sent."""


def run(
    kubectl: Sequence[object],
    words: Sequence[object],
    *,
    home: pathlib.Path,
    input: str | None,  # noqa: A002 - as subprocess names it
    check: bool,
    else_show: Callable[[], str],
) -> subprocess.CompletedProcess[str]:
    """Run `kubectl`, a program with the flags of a server, with the arguments `words`. Blocks.

    kubectl caches the kinds of the server in the folder `home`. `else_show` returns the logs that
    belong to the error of a server that does not answer in time.

    Raises:
        AssertionError: `check` is true and kubectl fails, or the server is busy for too long. The
            message has kubectl's errors.
    """

    def answered() -> subprocess.CompletedProcess[str] | None:
        ran = subprocess.run(
            [str(word) for word in (*kubectl, *words)],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            # The next cluster on the port of this one may have other kinds.
            env={**os.environ, "HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=270,
        )
        return None if ran.returncode and ran.stderr.endswith(_NOT_REACHED) else ran

    ran = wait.until(answered, _PATIENCE, else_show=lambda: f"{_NOT_REACHED}{else_show()}")
    if check and ran.returncode:
        arguments = " ".join(map(str, words))
        raise AssertionError(f"kubectl {arguments}: status {ran.returncode}\n{ran.stderr}")
    return ran
