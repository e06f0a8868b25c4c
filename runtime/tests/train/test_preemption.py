"""SIGTERM makes the chief save a checkpoint and end."""

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

SOURCES = pathlib.Path(tf.__file__).parents[1]

PROGRAM = """
import signal, sys, threading
import capstan as tf
from capstan.train import preemption

class ShowStep(tf.train.SessionRunHook):
    def after_create_session(self, session, coord):
        print(session.run(step), flush=True)

    def before_run(self, context):
        return tf.train.SessionRunArgs(step)

    def after_run(self, context, values):
        print(context.session.run(step), flush=True)

step = tf.train.get_or_create_global_step()
train = tf.assign_add(step, 1)
empty = tf.FIFOQueue(1, [tf.int32])
wait = empty.dequeue()
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=sys.argv[1], save_checkpoint_secs=3600, hooks=[ShowStep()]
) as session:
    {}
"""
# On a busy machine, a step may take longer than the hook waits by default.
TRAINS = """preemption.WAIT_SECS = 10**6
    while True: session.run(train)"""
WAITS = """for _ in range(3): session.run(train)
    session.run_step_fn(lambda step_context: print("waits", flush=True))
    session.run(wait)"""
HAS_A_HANDLER = """signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
with tf.train.MonitoredTrainingSession(checkpoint_dir=sys.argv[1]) as session:
    print("waits", flush=True)
    threading.Event().wait()"""
ENDS = """session.run(train)
print("waits", flush=True)
threading.Event().wait()"""
CLOSES_IN_A_THREAD = """session = tf.train.MonitoredTrainingSession(checkpoint_dir=sys.argv[1])
closing = threading.Thread(target=session.close)
closing.start(); closing.join()
print("waits", flush=True)
threading.Event().wait()"""


class Program:
    def __init__(self, text: str, folder: pathlib.Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", text, str(folder)],
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """Return the next line of the output. Blocks."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the program has ended"
        return line.strip()

    def terminate(self) -> tuple[int, list[str]]:
        """Send SIGTERM and wait for the end. Return the exit status and the rest of the output."""
        assert self._process.stdout is not None
        self._process.send_signal(signal.SIGTERM)
        # `communicate` would lose the lines that `readline` has read ahead.
        rest = self._process.stdout.read()
        return self._process.wait(), rest.split()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Program]:
    started = Program(request.param, tmp_path)
    try:
        yield started
    finally:
        started.kill()


def saved_step(folder: pathlib.Path) -> int:
    newest = tf.train.latest_checkpoint(str(folder))
    assert newest is not None
    return int(newest.rpartition("-")[2])


@pytest.mark.parametrize("program", [PROGRAM.format(TRAINS)], indirect=True, ids=["trains"])
def test_training_continues_at_the_step_at_which_it_was_terminated(
    program: Program, tmp_path: pathlib.Path
) -> None:
    while int(program.line()) < 20:
        pass
    status, steps = program.terminate()
    assert status == 143
    last = int(steps[-1]) if steps else 20
    assert saved_step(tmp_path) == last
    again = Program(PROGRAM.format(TRAINS), tmp_path)
    try:
        assert int(again.line()) == last
    finally:
        again.kill()


@pytest.mark.parametrize("program", [PROGRAM.format(WAITS)], indirect=True, ids=["waits"])
def test_a_checkpoint_is_saved_beside_a_step_that_does_not_end(
    program: Program, tmp_path: pathlib.Path
) -> None:
    while program.line() != "waits":
        pass
    assert program.terminate() == (143, [])
    assert saved_step(tmp_path) == 3


@pytest.mark.parametrize(
    "program, expected",
    [
        (PROGRAM.format("pass") + HAS_A_HANDLER, 7),
        (PROGRAM.format(ENDS), -signal.SIGTERM),
        (PROGRAM.format("pass") + CLOSES_IN_A_THREAD, 143),
    ],
    indirect=["program"],
    ids=["a handler of the program", "the end of training", "an end in another thread"],
)
def test_a_handler_is_set_only_while_the_program_trains_without_its_own(
    program: Program, expected: int
) -> None:
    while program.line() != "waits":
        pass
    assert program.terminate()[0] == expected
