"""The BLAS threads of a process: how many there are, and how long they spin."""

import os
import pathlib
import subprocess
import sys

import pytest
import threadpoolctl

from capstan.core import config
from capstan.services import cores

openblas = pytest.mark.skipif(
    not any(
        hasattr(library.dynlib, "openblas_thread_timeout")
        for library in threadpoolctl.ThreadpoolController().lib_controllers
    ),
    reason="needs a NumPy with OpenBLAS, as the wheels for Linux have it",
)

HERE = {
    "/job:ps/replica:0/task:0": "127.0.0.1:1",
    "/job:worker/replica:0/task:0": "127.0.0.1:2",
    "/job:worker/replica:0/task:1": "elsewhere:1",
}


@pytest.mark.parametrize(
    ("asked", "task", "available", "threads"),
    [
        (0, "/job:ps/replica:0/task:0", 8, 4),
        (0, "/job:worker/replica:0/task:1", 8, 8),
        (0, "/job:ps/replica:0/task:0", 1, 1),
        (3, "/job:ps/replica:0/task:0", 8, 3),
    ],
)
def test_tasks_of_one_host_share_its_cores_unless_the_settings_say_otherwise(
    asked: int, task: str, available: int, threads: int
) -> None:
    settings = config.SessionConfig(intra_op_parallelism_threads=asked)
    assert cores.threads_for(settings, task, HERE, available) == threads


SESSION = """
import os
import threadpoolctl
import capstan as tf

(before,) = threadpoolctl.threadpool_info()
session = tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads={threads}))
ones = tf.ones([300, 300])
assert (session.run(ones @ ones) == 300).all()
(library,) = threadpoolctl.ThreadpoolController().lib_controllers
print(library.dynlib.openblas_thread_timeout())
print(library.num_threads == ({threads} or before["num_threads"]))
print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
"""


def in_process(script: str, **variables: str) -> list[str]:
    environment = {n: v for n, v in os.environ.items() if not n.startswith("OPENBLAS_")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert not done.returncode, done.stderr
    return done.stdout.split()


@pytest.mark.e2e
@openblas
@pytest.mark.parametrize("threads", [0, 1])
def test_idle_threads_of_openblas_spin_only_for_moments_once_a_session_exists(threads: int) -> None:
    assert in_process(SESSION.format(threads=threads)) == ["17", "True", "None"]


@pytest.mark.e2e
@openblas
def test_the_time_of_spinning_that_the_user_chose_stays() -> None:
    found = in_process(SESSION.format(threads=0), OPENBLAS_THREAD_TIMEOUT="20")
    assert found == ["20", "True", "20"]


BEFORE = {
    "the thread of an event file": "writer = tf.summary.FileWriter({folder!r})",
    "a pool": """
from concurrent import futures
pool = futures.ThreadPoolExecutor()
pool.submit(print, end="").result()
""",
}


@pytest.mark.e2e
@openblas
@pytest.mark.parametrize("kind", BEFORE)
def test_threads_that_wait_do_not_keep_openblas_spinning(kind: str, tmp_path: pathlib.Path) -> None:
    begun = f"import capstan as tf\n{BEFORE[kind].format(folder=str(tmp_path))}\n"
    assert in_process(begun + SESSION.format(threads=0)) == ["17", "True", "None"]


BUSY = """
import threading
import numpy as np

ended = []

def multiply():
    ones = np.ones([500, 500])
    while not ended:
        ones @ ones

thread = threading.Thread(target=multiply)
thread.start()
"""


@pytest.mark.e2e
@openblas
def test_openblas_stays_as_it_is_while_another_thread_multiplies() -> None:
    found = in_process(BUSY + SESSION.format(threads=0) + "ended.append(1)")
    assert found == ["0", "True", "None"]


GARBAGE = """
import faulthandler, gc, queue, threading
import capstan as tf
from capstan.services import cores

faulthandler.dump_traceback_later(60, exit=True)
ends = queue.SimpleQueue()
for _ in range(10):
    threading.Thread(target=ends.get, daemon=True).start()

class Cycle:
    def __init__(self):
        self.own, self.local = self, threading.local()

# Nearly every new object begins a collection, and each collection finds garbage.
gc.callbacks.append(lambda phase, _: phase == "stop" and Cycle() and None)
gc.set_threshold(1)
cores.sleep_when_idle()
assert gc.isenabled()
print("done")
"""


@pytest.mark.e2e
@openblas
def test_a_collection_of_garbage_does_not_stop_the_search_for_busy_threads() -> None:
    assert in_process(GARBAGE) == ["done"]
