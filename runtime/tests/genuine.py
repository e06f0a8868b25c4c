"""TensorFlow itself, for tests that compare Capstan with it, and Capstan's tasks as processes.

TensorFlow's client calls the tasks over the network, as its users do.
"""

import functools
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import clusters
import pytest

import capstan

MARKS = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None,
        reason="needs TensorFlow: pip install -r requirements/oracle.txt, which `make test` does",
    ),
]

CALL_LIMIT_MS = 200_000
"""The time after which TensorFlow's client ends a call that has no limit of its own.

The client waits in C++, where the limit of a test cannot interrupt it.
"""

_TASK = """
import json, sys
import capstan as tf
config = tf.ConfigProto(device_count={"CPU": int(sys.argv[4])})
spec, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
server = tf.train.Server(spec, job_name=job, task_index=index, config=config)
print("up", flush=True)
sys.stdin.read()
"""
# A task ends when its standard input closes, so it never outlives the tests.


def tensorflow() -> Any:
    """Import TensorFlow and switch off its version 2 behaviour."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tensorflow as tf
    tf.compat.v1.disable_v2_behavior()
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    _set_sessions_up(tf)
    return tf


def _set_sessions_up(tf: Any) -> None:
    """Give each call without a limit `CALL_LIMIT_MS`, also in sessions that TensorFlow makes.

    The sessions do not rewrite their graphs, unless their config is that of `rewriting`. To rewrite
    a small graph takes twice as long as to run it once.
    """
    from tensorflow.python.client import session

    create, reset = session.BaseSession.__init__, session.Session.reset
    if getattr(create, "limits_calls", False):
        return

    def limited(config: Any) -> Any:
        found = tf.compat.v1.ConfigProto(operation_timeout_in_ms=CALL_LIMIT_MS)
        if config is not None:
            found.MergeFrom(config)
        if not found.graph_options.HasField("rewrite_options"):
            found.graph_options.rewrite_options.disable_meta_optimizer = True
        return found

    @functools.wraps(create)
    def limited_create(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        create(self, target, graph, limited(config))

    @functools.wraps(reset)
    def limited_reset(target: str, containers: Any = None, config: Any = None) -> None:
        reset(target, containers, limited(config))

    limited_create.limits_calls = True  # type: ignore[attr-defined]
    session.BaseSession.__init__ = limited_create
    session.Session.reset = staticmethod(limited_reset)


def rewriting(v1: Any) -> Any:
    """Return a config with which TensorFlow rewrites graphs before it runs them, as by default."""
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.SetInParent()
    return config


class Tasks:
    """A cluster of processes on loopback. `spec` maps jobs to addresses, for a ClusterSpec.

    Every task has `cpus` CPU devices.
    """

    def __init__(self, *, cpus: int = 1, **jobs: int) -> None:
        self._cpus = cpus
        self.spec = clusters.spec(**jobs)
        self._processes: dict[tuple[str, int], subprocess.Popen[str]] = {}
        try:
            for job, addresses in self.spec.items():
                for index in range(len(addresses)):
                    self._launch(job, index)
            for job, index in self._processes:
                self._await(job, index)
        except BaseException:
            self.close()
            raise

    def start(self, job: str, index: int = 0) -> None:
        """Start a task and wait until it serves."""
        self._launch(job, index)
        self._await(job, index)

    def _launch(self, job: str, index: int) -> None:
        self._processes[job, index] = subprocess.Popen(
            [sys.executable, "-c", _TASK, json.dumps(self.spec), job, str(index), str(self._cpus)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _await(self, job: str, index: int) -> None:
        process = self._processes[job, index]
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n", (
            f"{job} {index} did not start: see its standard error"
        )

    def kill(self, job: str, index: int = 0) -> None:
        """Kill a task, as the loss of its machine would."""
        process = self._processes.pop((job, index))
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def target(self, job: str = "worker", index: int = 0) -> str:
        """Return the target of a task, for a session of TensorFlow."""
        return f"grpc://{self.spec[job][index]}"

    def close(self) -> None:
        """End every task."""
        for job, index in list(self._processes):
            self.kill(job, index)


def three_answers(v1: Any, program: Callable[[Any], Any], target: str) -> tuple[Any, Any, Any]:
    """Run a program in TensorFlow, by TensorFlow's client on our servers, and with our own API.

    `program` takes a module `tf` and returns a list of fetches. Return the values of each way.
    """
    with v1.Graph().as_default():
        fetches = program(v1)
        with v1.Session() as local, v1.Session(target) as session:
            expected, on_servers = local.run(fetches), session.run(fetches)
    with capstan.Graph().as_default(), capstan.Session() as session:
        return expected, on_servers, session.run(program(capstan))
