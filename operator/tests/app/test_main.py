"""`python -m capstan_operator` as a process: its exit status and its messages."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException

import pytest
from processes import DEADLINE_SECONDS

from capstan_operator.api.names import TaskName
from capstan_operator.local import ports

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A home directory without a kubeconfig."""
    return tmp_path


def start(folder: pathlib.Path, *words: object) -> subprocess.Popen[str]:
    kept = ("PATH", "PYTHONPATH", "LANG")
    env = {key: os.environ[key] for key in kept if key in os.environ} | {"HOME": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-m", "capstan_operator", *map(str, words)],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: pathlib.Path, *words: object) -> tuple[int, str]:
    """Run the operator until it exits. Return its exit status and its standard error."""
    with start(folder, *words) as process:
        out, err = process.communicate(timeout=DEADLINE_SECONDS)
    assert not out
    return process.returncode, err


def kubeconfig(folder: pathlib.Path, server: str) -> pathlib.Path:
    path = folder / "somewhere.kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def unreachable(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """A kubeconfig of a server that does not answer."""
    with socket.socket() as silent:  # holds a port on which nothing listens
        silent.bind(("127.0.0.1", 0))
        yield kubeconfig(folder, f"http://127.0.0.1:{silent.getsockname()[1]}")


@pytest.fixture
def used_port() -> Iterator[int]:
    """A port in use."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_an_unknown_flag_is_refused_with_a_list_of_the_known_flags(folder: pathlib.Path) -> None:
    status, output = run(folder, "--namspace=a")
    assert status == 2
    assert "unrecognized arguments: --namspace=a" in output
    assert "--namespace NAME" in output


def test_a_wrong_value_is_reported_in_one_line(folder: pathlib.Path) -> None:
    status, output = run(folder, "--lease-duration=0")
    assert status == 2
    assert output == (
        "capstan_operator: --lease-duration: must be more than 0 and at most 31622400 seconds,"
        " not 0\n"
    )


@pytest.mark.parametrize(
    "words, says",
    [
        ((), "--kubeconfig"),
        (("--kubeconfig", "missing"), "missing"),
        (("--kubeconfig", os.devnull), os.devnull),
    ],
)
def test_a_missing_kubeconfig_is_reported_in_one_line(
    words: tuple[str, ...], says: str, folder: pathlib.Path
) -> None:
    status, output = run(folder, *words)
    assert status == 2, output
    assert output.startswith("capstan_operator: --kubeconfig: ")
    assert says in output
    assert len(output.splitlines()) == 1


def test_an_unknown_context_is_reported_in_one_line(
    folder: pathlib.Path, unreachable: pathlib.Path
) -> None:
    status, output = run(folder, "--kubeconfig", unreachable, "--context=there")
    assert status == 2, output
    assert "there" in output
    assert len(output.splitlines()) == 1


def test_a_port_in_use_is_reported_in_one_line(
    folder: pathlib.Path, unreachable: pathlib.Path, used_port: int
) -> None:
    status, output = run(folder, "--kubeconfig", unreachable, "--listen", f"127.0.0.1:{used_port}")
    assert status == 2, output
    assert output.startswith(f"capstan_operator: --listen: cannot listen on 127.0.0.1:{used_port}")
    assert len(output.splitlines()) == 1


def test_without_an_api_server_the_operator_lives_and_is_not_ready_until_sigterm(
    folder: pathlib.Path, unreachable: pathlib.Path
) -> None:
    # The kernel gives this port to no connection before the operator listens on it.
    (port,) = ports.choose(str(folder), [TaskName.parse("ps-0")]).values()
    with start(folder, "--kubeconfig", unreachable, "--listen", f"127.0.0.1:{port}") as process:
        try:
            wait_for(port, "/healthz", 200, "ok")
            wait_for(port, "/readyz", 503, "the API server")
        finally:
            process.send_signal(signal.SIGTERM)
            _, output = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0, output
    assert "Traceback" not in output


def wait_for(port: int, path: str, status: int, text: str) -> None:
    """Wait until a probe answers with this status and this text."""
    deadline, never = time.monotonic() + DEADLINE_SECONDS, threading.Event()
    answer: object = None
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            answer = response.status, response.read().decode()
            if answer[0] == status and text in answer[1]:
                return
        except (OSError, HTTPException) as error:
            answer = error
        finally:
            connection.close()
        assert time.monotonic() < deadline, f"{path}: not in time; at last: {answer}"
        never.wait(0.05)
