"""tf.keras.utils: queues of batches, a progress bar, data sets of HDF5 files, and kernels."""

import pathlib
import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

utils = tf.keras.utils


class Batches(utils.Sequence):
    """Batches of the numbers from `start` on. Each epoch starts at the next hundred."""

    def __init__(self, count: int, fails_at: int | None = None) -> None:
        self.count, self.fails_at, self.start = count, fails_at, 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if index == self.fails_at:
            raise IndexError("no such batch")
        return None if index == 3 else self.start + index

    def on_epoch_end(self) -> None:
        self.start += 100


class Unlucky(Batches):
    """Batches of which only the first epoch can be made."""

    def on_epoch_end(self) -> None:
        raise OSError("no next epoch")


def taken(enqueuer: Any, count: int, workers: int = 3, room: int = 4) -> list[Any]:
    enqueuer.start(workers, room)
    assert enqueuer.is_running()
    batches = enqueuer.get()
    found = [next(batches) for _ in range(count)]
    enqueuer.stop()
    assert not enqueuer.is_running()
    assert not enqueuer.run_thread.is_alive()
    return found


@pytest.mark.parametrize(
    "processes", [False, pytest.param(True, marks=pytest.mark.e2e)], ids=["threads", "processes"]
)
class TestQueues:
    def test_batches_of_a_sequence_come_in_order_for_ever(self, processes: bool) -> None:
        enqueuer = utils.OrderedEnqueuer(Batches(6), processes)
        assert not enqueuer.is_running()
        assert taken(enqueuer, 12) == [
            *(0, 1, 2, 4, 5), *(100, 101, 102, 104, 105), *(200, 201),
        ]  # fmt: skip

    def test_an_epoch_is_shuffled_as_a_whole(self, processes: bool) -> None:
        found = taken(utils.OrderedEnqueuer(Batches(60), processes, shuffle=True), 118)
        assert sorted(found[:59]) == [*range(3), *range(4, 60)]
        assert found[:59] != sorted(found[:59])
        assert sorted(found[59:]) == [100 + batch for batch in sorted(found[:59])]

    def test_an_error_of_a_sequence_stops_the_queue(self, processes: bool) -> None:
        enqueuer = utils.OrderedEnqueuer(Batches(6, fails_at=2), processes)
        enqueuer.start(2, 4)
        batches = enqueuer.get()
        assert [next(batches), next(batches)] == [0, 1]
        with pytest.raises(IndexError, match="no such batch"):
            next(batches)
        assert not enqueuer.is_running()

    def test_an_error_between_two_epochs_stops_the_queue(self, processes: bool) -> None:
        enqueuer = utils.OrderedEnqueuer(Unlucky(2), processes)
        enqueuer.start(2)
        batches = enqueuer.get()
        assert [next(batches), next(batches)] == [0, 1]
        with pytest.raises(OSError, match="no next epoch"):
            next(batches)
        assert not enqueuer.is_running()

    def test_a_generator_ends(self, processes: bool) -> None:
        enqueuer = utils.GeneratorEnqueuer(iter([1, None, 3]), processes, random_seed=4)
        enqueuer.start(1, 2)
        assert list(enqueuer.get()) == [1, 3]
        enqueuer.stop()
        assert not enqueuer.run_thread.is_alive()

    def test_an_error_of_a_generator_stops_the_queue(self, processes: bool) -> None:
        enqueuer = utils.GeneratorEnqueuer(failing(), processes)
        enqueuer.start(1, 2)
        batches = enqueuer.get()
        assert next(batches) == 1
        with pytest.raises(OSError, match="no more data"):
            next(batches)
        assert not enqueuer.is_running()


def failing() -> Iterator[int]:
    yield 1
    raise OSError("no more data")


def test_a_generator_of_several_threads_must_be_safe() -> None:
    first, second = threading.Event(), threading.Event()

    def slow() -> Iterator[int]:
        first.set()
        second.wait(60)
        yield 1

    enqueuer = utils.GeneratorEnqueuer(slow())
    enqueuer.start(2, 4)
    assert first.wait(60)
    with enqueuer.queue.mutex:
        while len(enqueuer.queue.queue) < 2:
            enqueuer.queue.not_empty.wait(60)
        other = enqueuer.queue.queue[1]
    with pytest.raises(ValueError, match="already executing"):
        other.result(60)
    second.set()
    batches = enqueuer.get()
    assert next(batches) == 1
    with pytest.raises(RuntimeError, match="Your generator is NOT thread-safe"):
        next(batches)


class Paused(Batches):
    """Batches of an epoch that does not end before `release` is set."""

    def __init__(self) -> None:
        super().__init__(2)
        self.ends, self.release, self.left = threading.Event(), threading.Event(), [-1]
        self.enqueuer = utils.OrderedEnqueuer(self)

    def on_epoch_end(self) -> None:
        self.left = [self.enqueuer.queue.unfinished_tasks]
        self.ends.set()
        self.release.wait(60)


def test_stopping_a_queue_ends_a_thread_that_waits_for_a_batch() -> None:
    batches = Paused()
    batches.enqueuer.start()
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.extend(batches.enqueuer.get()), daemon=True)
    waiting.start()
    assert batches.ends.wait(60)
    batches.enqueuer.stop(0)
    batches.release.set()
    waiting.join(60)
    assert not waiting.is_alive()
    assert found == [0, 1]


def test_an_epoch_ends_when_its_last_batch_has_been_taken() -> None:
    batches = Paused()
    batches.release.set()
    assert taken(batches.enqueuer, 3) == [0, 1, 0]
    assert batches.left == [0]


def test_a_queue_that_was_not_started_stops() -> None:
    utils.OrderedEnqueuer(Batches(2)).stop()
    with pytest.raises(NotImplementedError):
        utils.SequenceEnqueuer(Batches(2)).get()


def test_a_bar_shows_the_averages(capsys: pytest.CaptureFixture[str]) -> None:
    bar = utils.Progbar(10, width=5, interval=0, stateful_metrics=["last"])
    bar.update(4, [("loss", 2.0), ("last", 7.0)])
    bar.add(6, [("loss", 1.0), ("last", -0.0001)])
    first, last = re.split("\b+", capsys.readouterr().out)
    assert re.fullmatch(
        r"\r 4/10 \[=>\.\.\.\] - ETA: \d+s - loss: 2\.0000 - last: 7\.0000", first
    ), first
    assert re.fullmatch(
        r"\r10/10 \[=====\] - \d+s \d+[mu]?s/step - loss: 1\.4000 - last: -1\.0000e-04 *\n", last
    ), last


def test_a_bar_of_an_unknown_number_has_no_end(capsys: pytest.CaptureFixture[str]) -> None:
    bar = utils.Progbar(None, unit_name="sample")
    bar.update(0)
    bar.update(12)
    first, last = re.split("\b+", capsys.readouterr().out)
    assert first == "\r      0/Unknown - 0s 0s/sample"
    assert re.fullmatch(r"\r     12/Unknown - \d+s \d+[mu]?s/sample *", last), last


def test_a_bar_may_be_one_line_or_silent(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose in (0, 2):
        bar = utils.Progbar(20, verbose=verbose)
        for current in (5, 20):
            bar.update(current, [("loss", 3.0)])
    assert re.fullmatch(r"20/20 - \d+s - loss: 3\.0000\n", capsys.readouterr().out)


def test_rows_of_an_hdf5_file_are_an_array(tmp_path: pathlib.Path) -> None:
    h5py = pytest.importorskip("h5py")
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["rows"] = rows
    matrix = utils.HDF5Matrix(tmp_path / "data.h5", "rows", 2, 8, lambda array: array + 1)
    wanted = rows[2:8] + 1
    assert (len(matrix), matrix.shape, matrix.ndim, matrix.size) == (6, (6, 2), 2, 12)
    assert matrix.dtype == np.float32
    for key in (slice(1, 3), slice(None), 4, np.int64(5), [0, 3], np.array([1, 2])):
        np.testing.assert_array_equal(matrix[key], wanted[key])
    for key in (slice(0, 7), 6, [1, 6], np.array([6])):
        with pytest.raises(IndexError):
            matrix[key]
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    labels = np.ones((6, 1), np.float32)
    model.fit(matrix, labels, batch_size=3, epochs=1, shuffle="batch", verbose=0)
    np.testing.assert_allclose(model.predict(matrix), model.predict(wanted), rtol=1e-6)


def test_kernels_are_turned_around_for_theano() -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv2D(2, (3, 2), input_shape=(5, 5, 3)),
            layers.Reshape((-1, 4)),
            layers.Conv1D(3, 2),
            layers.Dense(2),
        ]
    )
    before = model.get_weights()
    utils.convert_all_kernels_in_model(model)
    after = model.get_weights()
    np.testing.assert_array_equal(after[0], before[0][::-1, ::-1])
    np.testing.assert_array_equal(after[2], before[2][::-1])
    for place in (1, 3, 4, 5):
        np.testing.assert_array_equal(after[place], before[place])
    convert = tf.python.keras.utils.conv_utils.convert_kernel
    with pytest.raises(ValueError, match="Invalid kernel shape"):
        convert(np.zeros([2, 2]))
