"""Queues that threads or processes fill with the batches of a program
(python/keras/utils/data_utils.py).

A thread puts the batches that a pool computes into a bounded queue. `get` takes them out in the
order of their numbers.
"""

import multiprocessing
import queue
import random
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import numpy as np

_ABSTRACT = "Use tf.keras.utils.OrderedEnqueuer or GeneratorEnqueuer, which fill the queue"


class _NoMoreBatchesError(Exception):
    """Stands for StopIteration, which a generator must not raise."""


class SequenceEnqueuer:
    """A queue of batches. Subclasses have `_run`, which fills it, and `get`.

    With `use_multiprocessing`, processes compute the batches. Each has its own copy of `sequence`.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self.workers = 0
        self.queue: queue.Queue[Any] = queue.Queue()
        self.run_thread: threading.Thread | None = None
        self.stop_signal: threading.Event | None = None

    def is_running(self) -> bool:
        """Return whether the queue has been started, and not stopped."""
        return self.stop_signal is not None and not self.stop_signal.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Let `workers` threads or processes fill the queue, which has room for some batches."""
        self.workers = workers
        self.queue = queue.Queue(max_queue_size)
        self.stop_signal = threading.Event()
        self.run_thread = threading.Thread(target=self._fill, daemon=True)
        self.run_thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """End the threads and processes, and empty the queue. Wait `timeout` seconds for them."""
        if self.stop_signal is None or self.run_thread is None:
            return
        self.stop_signal.set()
        with self.queue.mutex:
            self.queue.queue.clear()
            self.queue.unfinished_tasks = 0
            self.queue.not_full.notify_all()
            self.queue.all_tasks_done.notify_all()
        self.run_thread.join(timeout)

    def get(self) -> Iterator[Any]:
        """Yield the batches that are not None. Blocks until the next batch is there.

        An error of the thread that fills the queue is raised after the batches before it.
        """
        raise NotImplementedError(_ABSTRACT)

    def _run(self) -> None:
        """Fill the queue with futures until `stop_signal` is set."""
        raise NotImplementedError(_ABSTRACT)

    def _fill(self) -> None:
        last: list[futures.Future[Any] | None] = [None]
        try:
            self._run()
        except Exception as error:  # noqa: BLE001 - `get` raises it
            failed: futures.Future[Any] = futures.Future()
            failed.set_exception(error)
            last.insert(0, failed)
        finally:
            # Wake a thread that waits in `get`, also if the queue is full.
            with self.queue.mutex:
                self.queue.queue.extend(last)
                self.queue.not_empty.notify_all()

    def _pool(self, seed: int | None = None) -> futures.Executor:
        if self.use_multiprocessing:
            return futures.ProcessPoolExecutor(
                self.workers, initializer=_adopt, initargs=(self.sequence, seed)
            )
        return futures.ThreadPoolExecutor(self.workers)

    def _submit(self, pool: futures.Executor, take: Callable[..., Any], *given: Any) -> None:
        """Put the future of `take(sequence, *given)` into the queue. Blocks while it is full."""
        call = (_in_process, take) if self.use_multiprocessing else (take, self.sequence)
        self.queue.put(pool.submit(*call, *given))

    def _results(self) -> Iterator[Any]:
        """Yield what the futures of the queue return, or raise what they raise."""
        while self.is_running():
            future = self.queue.get()
            if future is None:
                return
            try:
                found = future.result()
            except futures.CancelledError:
                return
            except StopIteration as end:
                raise _NoMoreBatchesError("the generator has ended") from end
            self.queue.task_done()
            if found is not None:
                yield found


class OrderedEnqueuer(SequenceEnqueuer):
    """A queue of the batches of a `tf.keras.utils.Sequence`, one epoch after another.

    With `shuffle`, each epoch has another order. `on_epoch_end` of the sequence runs when the last
    batch of an epoch has been taken.
    """

    def __init__(
        self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False
    ) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _run(self) -> None:
        order = list(range(len(self.sequence)))
        while True:
            if self.shuffle:
                random.shuffle(order)
            with self._pool() as pool:
                for index in order:
                    if not self.is_running():
                        pool.shutdown(cancel_futures=True)
                        return
                    self._submit(pool, _item, index)
                self._wait_until_taken()
            if not self.is_running():
                return
            self.sequence.on_epoch_end()

    def _wait_until_taken(self) -> None:
        with self.queue.all_tasks_done:
            self.queue.all_tasks_done.wait_for(
                lambda: not self.queue.unfinished_tasks or not self.is_running()
            )

    def get(self) -> Iterator[Any]:
        """Yield the batches that are not None, without end. Blocks until the next is there.

        An error of the sequence, also of its `on_epoch_end`, stops the queue and is raised.
        """
        try:
            yield from self._results()
        except Exception:
            self.stop()
            raise


class GeneratorEnqueuer(SequenceEnqueuer):
    """A queue of the batches of a generator.

    With several workers, the batches may change places, and the generator must be safe for threads
    unless `use_multiprocessing` is set. The seed of NumPy in a process is `random_seed` plus the
    process's number.
    """

    def __init__(
        self, sequence: Any, use_multiprocessing: bool = False, random_seed: int | None = None
    ) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.random_seed = random_seed

    def _run(self) -> None:
        with self._pool(self.random_seed) as pool:
            while self.is_running():
                self._submit(pool, next)
            pool.shutdown(cancel_futures=True)

    def get(self) -> Iterator[Any]:
        """Yield the batches that are not None until the generator ends. Blocks for the next.

        Raises:
            RuntimeError: several workers use a generator that is not safe for threads.
        """
        try:
            yield from self._results()
        except _NoMoreBatchesError:
            yield from self._last()
        except Exception as error:
            self.stop()
            if "generator already executing" in str(error):
                raise RuntimeError(
                    "Your generator is NOT thread-safe. Keras requires a thread-safe generator "
                    "when `use_multiprocessing=False, workers > 1`. "
                ) from error
            raise

    def _last(self) -> Iterator[Any]:
        """Yield the batches that other workers took just before the end."""
        for _ in range(self.workers - 1):
            future = self.queue.get()
            if future is None:
                return
            if future.exception() is None and future.result() is not None:
                yield future.result()


def _item(sequence: Any, index: int) -> Any:
    return sequence[index]


def _adopt(sequence: Any, seed: int | None) -> None:
    """Keep the sequence in this process, so that it is not sent for each batch."""
    process: Any = multiprocessing.current_process()
    process.sequence = sequence
    if seed is not None:
        np.random.seed(seed + process.ident)


def _in_process(take: Callable[..., Any], *given: Any) -> Any:
    process: Any = multiprocessing.current_process()
    return take(process.sequence, *given)
