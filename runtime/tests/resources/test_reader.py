"""Readers whose reads wait for the queue of file names: order, errors, cancellation."""

import pathlib
import threading
from collections.abc import Sequence
from typing import Any

import background
import numpy as np
import pytest

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.resources import files, queues, reader, record_files

NAME = resource_name.ResourceName("container", "r")


class Call:
    """A read or an operation on the queue, and its answer."""

    def __init__(self) -> None:
        self.step = cancellation.Cancellation()
        self.answers: list[Any] = []

    def done(self, outputs: Sequence[Any], error: Any, give_back: Any = None, /) -> bool:
        self.answers.append([value.tolist() for value in outputs] if error is None else error)
        return True


class Scene:
    """A reader of words: a work unit `a b` has the records `a` and `b`."""

    def __init__(self) -> None:
        self.queue = queues.FIFOQueue(NAME, None, (dtypes.string,), ((),))
        self.opened_in: list[threading.Thread] = []
        self.may_open = threading.Event()
        self.may_open.set()
        self.reader = reader.Reader(NAME, "Words", "words", self._open)

    def _open(self, work: bytes) -> "Words":
        self.opened_in.append(threading.current_thread())
        self.may_open.wait()
        if work == b"missing":
            raise errors.NotFoundError(None, None, "missing; No such file or directory")
        return Words(work)

    def read(self, count: int | None = None) -> Call:
        call = Call()
        self.reader.take(reader.Read(self.queue, count, call.done, call.step))
        return call

    def read_rows(self, count: int) -> Call:
        call = Call()
        self.reader.take_rows(reader.Read(self.queue, count, call.done, call.step))
        return call

    def add(self, *units: bytes) -> None:
        for unit in units:
            call = Call()
            self.queue.enqueue((np.array(unit, object),), call.done, call.step)
            assert call.answers == [[]]

    def close(self) -> None:
        call = Call()
        self.queue.close(call.done, call.step)


class Words:
    def __init__(self, work: bytes) -> None:
        self._left = work.split()

    def read(self) -> record_files.Record | None:
        if not self._left:
            return None
        word = self._left.pop(0)
        if word == b"damaged":
            raise errors.DataLossError(None, None, "damaged")
        return b"key", word

    def close(self) -> None:
        pass


def answered(*calls: Call) -> list[Any]:
    background.until(lambda: all(call.answers for call in calls))
    return [answer for call in calls for answer in call.answers]


def test_reads_that_wait_get_the_records_in_the_order_of_their_arrival() -> None:
    scene = Scene()
    first, second, third = scene.read(), scene.read(3), scene.read()
    scene.add(b"", b"a b c", b"d")
    assert answered(first, second, third) == [
        [b"key", b"a"], [[b"key", b"key"], [b"b", b"c"]], [b"key", b"d"],
    ]  # fmt: skip
    assert scene.reader.records_produced() == 4
    assert scene.reader.units_completed() == 2


def test_the_thread_that_adds_a_file_name_does_not_open_the_file() -> None:
    scene = Scene()
    waiting = scene.read()
    scene.add(b"a b")
    answered(waiting)
    assert threading.current_thread() not in scene.opened_in
    assert scene.read().answers == [[b"key", b"b"]]


def test_a_file_that_cannot_be_opened_fails_one_read() -> None:
    scene = Scene()
    first, second = scene.read(), scene.read()
    scene.add(b"missing", b"a")
    error, record = answered(first, second)
    assert isinstance(error, errors.NotFoundError)
    assert record == [b"key", b"a"]


def test_a_read_of_several_records_gets_those_before_a_damaged_one() -> None:
    scene = Scene()
    scene.add(b"a b damaged c")
    first, second, third = (scene.read(4) for _ in range(3))
    records, error, rest = answered(first, second, third)
    assert records == [[b"key", b"key"], [b"a", b"b"]]
    assert isinstance(error, errors.DataLossError)
    assert rest == [[b"key"], [b"c"]]


def test_records_that_a_failed_step_gives_back_after_a_reset_are_forgotten() -> None:
    scene = Scene()
    scene.add(b"a b c", b"d")
    before = scene.read_rows(2)
    scene.reader.reset()
    after = scene.read_rows(2)
    for call in (before, after):
        call.step.cancel(errors.InvalidArgumentError(None, None, "a bad element"))
        call.step.end()
    assert scene.reader.records_produced() == 0
    assert answered(before, after, scene.read()) == [
        [[b"key", b"key"], [b"a", b"b"]], [[b"key"], [b"d"]], [b"key", b"d"],
    ]  # fmt: skip


def test_a_cancelled_read_leaves_the_line_and_takes_no_file_name() -> None:
    scene = Scene()
    first, second, third = scene.read(), scene.read(), scene.read()
    for call in (second, first):
        call.step.cancel(errors.CancelledError(None, None, "ended"))
        (error,) = answered(call)
        assert str(error) == "ended"
    scene.add(b"a b")
    assert answered(third) == [[b"key", b"a"]]
    assert len(first.answers) == len(second.answers) == 1


def test_every_read_that_waits_for_a_closed_queue_fails() -> None:
    scene = Scene()
    waiting = [scene.read() for _ in range(3)]
    scene.close()
    assert {type(error) for error in answered(*waiting)} == {errors.OutOfRangeError}
    (error,) = scene.read().answers
    assert "is closed and has insufficient elements" in str(error)


def test_reads_end_when_the_container_of_the_reader_is_cleared() -> None:
    scene = Scene()
    first, second = scene.read(), scene.read()
    gone = errors.NotFoundError(None, None, "Container container does not exist.")
    scene.reader.abandon(gone)
    assert second.answers == scene.read().answers == [gone]
    scene.add(b"a")
    assert answered(first) == [gone]


@pytest.mark.e2e
def test_a_thousand_empty_files_are_skipped() -> None:
    scene = Scene()
    scene.add(*[b""] * 1000, b"a")
    assert scene.read().answers == [[b"key", b"a"]]


@pytest.mark.parametrize(
    "name, error, message",
    [
        ("{0}/none", errors.NotFoundError, "{0}/none; No such file or directory"),
        ("{0}", errors.FailedPreconditionError, "{0}; Is a directory"),
        ("nfs7://a/b", errors.UnimplementedError, "File system scheme 'nfs7' not implemented"),
    ],
)
def test_a_file_that_cannot_be_read_raises_tensorflows_error(
    tmp_path: pathlib.Path, name: str, error: type[errors.OpError], message: str
) -> None:
    with pytest.raises(error) as caught:
        files.read_all(name.format(tmp_path))
    assert str(caught.value).startswith(message.format(tmp_path))


def test_the_url_of_a_local_file_is_its_path(tmp_path: pathlib.Path) -> None:
    files.write_all(f"file://{tmp_path}/a", b"text")
    assert files.read_all(f"{tmp_path}/a") == b"text"


def test_the_counts_of_a_reader_can_be_read_while_it_opens_a_file() -> None:
    scene = Scene()
    scene.may_open.clear()
    reading = scene.read()
    scene.add(b"a")
    background.until(lambda: bool(scene.opened_in))
    counts = background.Background(scene.reader.records_produced)
    background.until(lambda: not counts.is_alive())
    assert counts.join() == 0
    scene.may_open.set()
    assert answered(reading) == [[b"key", b"a"]]
