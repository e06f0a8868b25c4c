"""`tf.data`: pipelines that end early, and the elements and threads that they leave."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import background
import numpy as np
import pytest

import capstan as tf
from capstan.executor import emit

Dataset = tf.data.Dataset
SOON = tf.RunOptions(timeout_in_ms=50)


def begun(session: Any, dataset: Any) -> Any:
    """Return the next element of an iterator that has begun."""
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    session.run(iterator.initializer)
    return element


def new_threads(before: set[threading.Thread], prefix: str) -> list[threading.Thread]:
    """Return the threads that are not in `before`, after garbage was collected."""
    gc.collect()
    return [
        each
        for each in threading.enumerate()
        if each not in before and each.name.startswith(prefix)
    ]


def test_an_epoch_that_is_not_read_to_its_end_ends_its_generator() -> None:
    ended = []

    def numbers() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            ended.append(True)

    with tf.Session() as session:
        element = begun(session, Dataset.from_generator(numbers, tf.int32, []).take(2).repeat())
        assert [session.run(element) for _ in range(9)] == [0, 1] * 4 + [0]
        assert len(ended) == 4


@pytest.mark.e2e
def test_a_reduction_without_end_stops_when_its_step_ends() -> None:
    total = Dataset.range(3).repeat().reduce(np.int64(0), lambda state, x: state + x)
    before = set(threading.enumerate())
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(total, options=SOON)
        background.until(lambda: not new_threads(before, "capstan-dataset"))


@pytest.mark.e2e
def test_a_filter_that_matches_nothing_stops_when_its_session_closes() -> None:
    nothing = Dataset.range(3).repeat().filter(lambda x: x < 0)
    before = set(threading.enumerate())
    with tf.Session() as session:
        element = begun(session, nothing)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(element, options=SOON)
    background.until(lambda: not new_threads(before, "capstan-iterator"))


def looping(x: Any) -> Any:
    """Return a number that is never computed."""
    return tf.while_loop(lambda i: i < 9, lambda i: i * 0, [x])


ENDLESS = {
    "slices of nothing": lambda: Dataset.from_tensors(np.zeros([0])).repeat().unbatch(),
    "a distant shard": lambda: Dataset.range(3).repeat().shard(10**12, 10**12 - 1),
    "a loop": lambda: Dataset.range(3).map(looping),
    "a loop in a parallel call": lambda: Dataset.range(3).map(looping, 2),
    "a loop ahead of the step": lambda: Dataset.range(3).map(looping).prefetch(1),
}


@pytest.mark.e2e
@pytest.mark.parametrize("kind", ENDLESS)
def test_a_step_without_end_stops_when_its_session_closes(kind: str) -> None:
    before = set(threading.enumerate())
    with tf.Session() as session:
        element = begun(session, ENDLESS[kind]())

        def run() -> None:
            with pytest.raises(tf.errors.CancelledError):
                session.run(element)

        step = background.Background(run)
        background.until(lambda: new_threads(before, "capstan-iterator"))
        session.close()
        step.join()
    background.until(lambda: not new_threads(before, "capstan-"))


def test_ignored_errors_of_a_missing_file_do_not_hide_the_next_file(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("line\n")
    names = [str(tmp_path / name) for name in ("a", "b")]
    lines = tf.data.TextLineDataset(names).apply(tf.data.experimental.ignore_errors())
    with tf.Session() as session:
        element = begun(session, lines)
        assert session.run(element) == b"line"
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)


@pytest.mark.e2e
def test_parallel_calls_that_wait_for_a_queue_end_with_their_session() -> None:
    queue = tf.FIFOQueue(1, tf.int32, [])
    waiting = Dataset.range(4).map(lambda x: queue.dequeue(), 2)
    before = set(threading.enumerate())
    with tf.Session() as session:
        element = begun(session, waiting)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(element, options=SOON)
    background.until(lambda: not new_threads(before, "capstan-map"))


WAITING = """
import threading
import capstan as tf

is_waiting = threading.Event()

def wait(x):
    is_waiting.set()
    threading.Event().wait()

dataset = tf.data.Dataset.range(4).map(lambda x: tf.py_func(wait, [x], tf.int64), 2)
iterator = dataset.make_initializable_iterator()
element = iterator.get_next()
session = tf.Session()
session.run(iterator.initializer)
threading.Thread(target=session.run, args=(element,), daemon=True).start()
is_waiting.wait()
print("over")
"""


@pytest.mark.e2e
def test_a_process_ends_although_a_parallel_call_waits() -> None:
    process = subprocess.run(
        [sys.executable, "-c", WAITING], capture_output=True, text=True, timeout=120, check=False
    )
    assert (process.returncode, process.stdout) == (0, "over\n"), process.stderr


def test_a_function_of_blocks_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    write = emit.write_function

    def counting(*arguments: Any) -> Any:
        compiled.append(arguments)
        return write(*arguments)

    monkeypatch.setattr(emit, "write_function", counting)
    plan = Dataset.from_tensor_slices(np.arange(6.0)).map(lambda x: x * 2).batch(3)
    iterator = plan.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        for _ in range(3):
            session.run(iterator.initializer)
            assert session.run(element).tolist() == [0, 2, 4]
    assert len(compiled) == 1


@pytest.mark.filterwarnings("error")
def test_a_session_that_closes_also_closes_the_file_that_its_dataset_reads(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    with tf.Session() as session:
        assert (
            session.run(begun(session, tf.data.TextLineDataset(str(tmp_path / "lines")))) == b"one"
        )
    gc.collect()


def test_a_cache_in_a_file_is_written_by_a_complete_pass_and_read_by_later_ones(
    tmp_path: Path,
) -> None:
    made: list[int] = []

    def note(x: Any) -> Any:
        made.append(int(x))
        return x

    def pipeline() -> Any:
        numbers = Dataset.range(3).map(lambda x: tf.py_func(note, [x], tf.int64))
        texts = Dataset.from_tensor_slices([["a", ""], ["b", "c"], ["d", "e"]])
        return Dataset.zip((numbers, texts)).cache(str(tmp_path / "cache"))

    with tf.Session() as session:
        session.run(begun(session, pipeline()))
        assert made == [0]

    def is_gone() -> bool:
        gc.collect()
        return not list(tmp_path.iterdir())

    background.until(is_gone)  # the thread of the iterator may delete the file
    for _ in range(2):
        with tf.Session() as session:
            element = begun(session, pipeline().repeat(2))
            for number in (0, 1, 2, 0, 1, 2):
                found, texts = session.run(element)
                assert found == number
                assert texts.tolist() == [[b"a", b""], [b"b", b"c"], [b"d", b"e"]][number]
    assert made == [0, 0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


READERS: dict[str, tuple[Any, list[Any]]] = {
    "map": (lambda rows: rows.map(lambda x: x + 0), [0, 1, None, 3, 4]),
    "batch": (lambda rows: rows.batch(3), [[0, 1], None, None]),
    "padded_batch": (lambda rows: rows.padded_batch(3, []), [[0, 1], None, None]),
    "take": (lambda rows: rows.take(9), [0, 1, None, None]),
    "skip": (lambda rows: rows.skip(1), [1, None, None]),
    "shard": (lambda rows: rows.shard(1, 0), [0, 1, None, None]),
    "filter": (lambda rows: rows.filter(lambda x: x >= 0), [0, 1, None, None]),
    "flat_map": (lambda rows: rows.flat_map(Dataset.from_tensors), [0, 1, None, None]),
    "zip": (lambda rows: Dataset.zip((rows, rows)).map(lambda x, _: x), [0, 1, None, None]),
    "window": (
        lambda rows: rows.window(2).flat_map(lambda window: window.batch(2)),
        [[0, 1], None, None],
    ),
    "group_by_window": (
        lambda rows: rows.apply(
            tf.data.experimental.group_by_window(
                lambda x: np.int64(0), lambda _, window: window.batch(5), 5
            )
        ),
        [[0, 1], None, None],
    ),
}
"""Datasets that read a map whose function ends it at 2, and what steps read. None is an end."""


@pytest.mark.parametrize("name", READERS)
def test_most_datasets_stay_at_their_first_end(name: str) -> None:
    def ending(x: Any) -> Any:
        if x == 2:
            raise StopIteration
        return x

    def called(x: Any) -> Any:
        result = tf.py_func(ending, [x], tf.int64)
        result.set_shape([])
        return result

    make, expected = READERS[name]
    found: list[Any] = []
    with tf.Session() as session:
        element = begun(session, make(Dataset.range(5).map(called)))
        for _ in expected:
            try:
                found.append(session.run(element).tolist())
            except tf.errors.OutOfRangeError:
                found.append(None)
    assert found == expected
