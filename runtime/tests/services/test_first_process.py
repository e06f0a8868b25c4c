"""SIGTERM ends the first process of a container, unless the program has its own handler."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

SOURCES = pathlib.Path(__file__).parents[2] / "src"
WAITING = {
    "server": """
def tell() -> None:
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        threading.Event().wait(0.01)
    print("ready", flush=True)
threading.Thread(target=tell).start()
tf.train.Server.create_local_server().join()
""",
    "session": """
session = tf.train.MonitoredSession()
print("ready", flush=True)
threading.Event().wait()
""",
    "thread": """
thread = threading.Thread(target=first_process.obey_sigterm)
thread.start(); thread.join()
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
""",
    "handler": """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
first_process.obey_sigterm()
print("ready", flush=True)
threading.Event().wait()
""",
}
PROGRAM = """
import os, signal, sys, threading
import capstan as tf
from capstan.services import first_process
assert os.getpid() == 1
tf.no_op()
{}
"""


def can_be_first() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        ["unshare", "--pid", "--fork", "true"], capture_output=True, check=False, timeout=200
    )
    return tried.returncode == 0


pytestmark = [
    pytest.mark.e2e,
    pytest.mark.alone,
    pytest.mark.skipif(
        not can_be_first(),
        reason="needs the right to make a PID namespace: run the tests as root on Linux",
    ),
]


def start(kind: str) -> "subprocess.Popen[str]":
    text = PROGRAM.format(WAITING[kind])
    return subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def waiting(request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    process = start(request.param)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "waiting, status", [("session", 143), ("server", 143), ("handler", 7)], indirect=["waiting"]
)
def test_sigterm_ends_the_first_process(waiting: "subprocess.Popen[str]", status: int) -> None:
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "ready\n"
    (first,) = psutil.Process(waiting.pid).children()
    first.send_signal(signal.SIGTERM)
    assert waiting.wait(timeout=200) == status


def test_outside_the_main_thread_the_handler_is_not_set() -> None:
    process = start("thread")
    process.communicate(timeout=200)
    assert process.returncode == 0
