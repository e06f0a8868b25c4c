"""`python -m capstan serve`: its arguments, its messages and its exit status."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import clusters
import pytest

import capstan as tf
from capstan import __main__ as command

SOURCES = pathlib.Path(__file__).parents[2] / "src"
PATIENCE_S = 200.0
PAIR = '{"ps": ["127.0.0.1:2222", "127.0.0.1:2223"]}'


class Process:
    """A process that runs the command.

    `program` is the beginning of the words of Python's command line.
    """

    def __init__(
        self, *arguments: str, program: Sequence[str] = ("-m", "capstan"), **environment: str
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *program, "serve", *arguments],
            env={**os.environ, "PYTHONPATH": str(SOURCES), "TF_CONFIG": "", **environment},
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *fault: object) -> None:
        self._process.kill()
        self._process.communicate()

    def line(self) -> str:
        assert self._process.stderr is not None
        return self._process.stderr.readline()

    def end(self, number: signal.Signals | None = None) -> tuple[int, str]:
        """Send a signal, if there is one. Return the exit status and the rest of standard error."""
        if number is not None:
            self._process.send_signal(number)
        _, messages = self._process.communicate(timeout=PATIENCE_S)
        return self._process.returncode, messages


@pytest.mark.alone
@pytest.mark.e2e
@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("protocol", [(), ("--protocol", "grpc")])
def test_a_task_serves_until_a_signal_ends_it(
    number: signal.Signals, status: int, protocol: tuple[str, ...]
) -> None:
    cluster = clusters.spec(ps=1)
    flags = ("--cluster", json.dumps(cluster), "--job", "ps", "--task", "0", *protocol)
    with Process(*flags) as process:
        port = cluster["ps"][0].rpartition(":")[2]
        assert re.search(rf"Started server with target: grpc://localhost:{port}$", process.line())
        assert total(f"grpc://127.0.0.1:{port}") == 3.0
        code, messages = process.end(number)
    assert (code, messages.count("\n")) == (status, 1), messages
    assert f"has stopped: {number.name}" in messages
    socket.create_server(("127.0.0.1", int(port))).close()


DEAF = """
import runpy, signal, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
runpy.run_module("capstan", run_name="__main__")
"""
"""Runs the command in a process whose main thread gets no SIGTERM: another thread gets it.

Python then only marks its handler as due, as if a signal came just before the main thread sleeps.
"""


@pytest.mark.alone
@pytest.mark.e2e
def test_a_signal_that_does_not_wake_the_main_thread_ends_a_task() -> None:
    flags = ("--cluster", json.dumps(clusters.spec(ps=1)), "--job", "ps")
    with Process(*flags, program=("-c", DEAF)) as process:
        process.line()
        code, messages = process.end(signal.SIGTERM)
    assert (code, messages.count("has stopped: SIGTERM")) == (143, 1), messages


@pytest.mark.alone
@pytest.mark.e2e
def test_flags_default_to_tf_config_one_by_one() -> None:
    cluster = clusters.spec(ps=1, worker=2)
    config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}})
    with Process("--task", "0", TF_CONFIG=config) as process:
        assert process.line().rstrip().endswith(cluster["worker"][0].rpartition(":")[2])
        assert process.end(signal.SIGTERM)[0] == 143


@pytest.mark.alone
@pytest.mark.e2e
def test_a_session_is_unavailable_after_a_signal_ended_its_master() -> None:
    cluster = clusters.spec(worker=1)
    with Process("--cluster", json.dumps(cluster), "--job", "worker") as process:
        process.line()
        with tf.Graph().as_default():
            one = tf.constant(1.0)
            session = tf.Session(f"grpc://{cluster['worker'][0]}")
            session.run(one)
            assert process.end(signal.SIGTERM)[0] == 143
            with pytest.raises(tf.errors.UnavailableError):
                session.run(one)
            session.close()


@pytest.mark.e2e
def test_the_error_names_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        with Process("--cluster", json.dumps({"ps": [f"127.0.0.1:{port}"]})) as process:
            code, messages = process.end()
    assert code == 2
    assert f"Could not start gRPC server on 127.0.0.1:{port}" in messages
    assert "Traceback" not in messages


@pytest.mark.parametrize(
    "flags, config, words",
    [
        ([], "", "no cluster: give --cluster or set TF_CONFIG"),
        (["--cluster", "{"], "", "--cluster: it is not JSON"),
        (["--cluster", "[1]"], "", "--cluster: cluster must map job names"),
        (["--cluster", '{"ps": ["a"]}'], "", r"--cluster: cluster.ps\[0\] must be 'host:port'"),
        (["--cluster", PAIR, "--job", "w"], "", "--job: 'w' is not a job of the cluster"),
        (["--cluster", PAIR, "--job", "ps"], "", r"no task: give --task, one of \[0, 1\]"),
        (["--cluster", PAIR, "--job", "ps", "--task", "2"], "", "--task: the job has no task 2"),
        (["--cluster", PAIR, "--job", "ps", "--task", "-"], "", "--task: '-' is not a number"),
        (["--job", "ps"], "nonsense", "TF_CONFIG is not JSON"),
        (
            [],
            '{"cluster": {"ps": ["a:1"], "w": ["b:1"]}}',
            "no job: give --job, or a task in TF_CONFIG",
        ),
        (
            ["--cluster", PAIR],
            '{"cluster": {"w": ["a:1"]}, "task": {"type": "w", "index": 0}}',
            "TF_CONFIG: 'w' is not a job of the cluster",
        ),
        (
            ["--cluster", PAIR],
            '{"cluster": {"ps": {"7": "a:1"}}, "task": {"type": "ps", "index": 7}}',
            "TF_CONFIG: the job has no task 7",
        ),
    ],
)
def test_invalid_input_is_named_and_exits_with_2(
    flags: list[str],
    config: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TF_CONFIG", config)
    assert command.main(["serve", *flags]) == 2
    assert re.search(f"^python -m capstan serve: {words}", capsys.readouterr().err)


@pytest.mark.parametrize("flags", [[], ["serve", "--cluter", "{}"], ["serve", "--protocol", "tcp"]])
def test_wrong_flags_exit_with_2(flags: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(flags)
    assert ended.value.code == 2


def total(target: str) -> Any:
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            variable = tf.Variable([1.0, 2.0])
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            return session.run(tf.reduce_sum(variable))
