"""Several readers that fill one queue (contrib/slim/python/slim/data/parallel_reader.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.api import data_flow_ops, file_io, io_ops, math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes as types
from capstan.train import input_producers, queue_runner


class ParallelReader(io_ops.ReaderBase):
    """A reader that reads several files at once and puts their records into one queue.

    The records of different files come in no fixed order. If the queue shuffles, so does the
    reader.
    """

    def __init__(
        self,
        reader_class: Any,
        common_queue: Any,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Make `num_readers` readers `reader_class(**reader_kwargs)` that fill `common_queue`.

        Raises:
            TypeError: the queue does not hold pairs of strings.
        """
        if [dtype.base_dtype for dtype in common_queue.dtypes] != [types.string, types.string]:
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the key and the value of the next record in the common queue.

        A new queue runner lets the readers take names of files from `queue`.
        """
        self._fill_from(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Return the keys and the values of at most `num_records` records of the common queue.

        Fewer come at the end. The shapes of the common queue must be known.
        """
        self._fill_from(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def num_records_produced(self, name: str | None = None) -> Any:
        """Return the number of records that the readers have read, as int64."""
        return math_ops.add_n([each.num_records_produced() for each in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """Return the number of files that the readers have read to the end, as int64."""
        counts = [each.num_work_units_completed() for each in self._readers]
        return math_ops.add_n(counts, name=name)

    def _fill_from(self, queue: Any) -> None:
        enqueues = [self._common_queue.enqueue(each.read(queue)) for each in self._readers]
        queue_runner.add_queue_runner(queue_runner.QueueRunner(self._common_queue, enqueues))


def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Return the key and the value of the next record of the files in `data_sources`.

    See `get_data_files` for the sources. Each file is read `num_epochs` times, or without end. With
    `shuffle`, the files and the records come in random order, and `min_after_dequeue` records stay
    in the queue of `capacity` records. `dtypes` are those of a record: two strings by default.
    """
    files = get_data_files(data_sources)
    with scoped(scope, "parallel_read"):
        filenames = input_producers.string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        kinds = dtypes or [types.string, types.string]
        queue: Any
        if shuffle:
            queue = data_flow_ops.RandomShuffleQueue(
                capacity, min_after_dequeue, kinds, seed=seed, name="common_queue"
            )
        else:
            queue = data_flow_ops.FIFOQueue(capacity, kinds, name="common_queue")
        input_producers.summarize(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(filenames)


def single_pass_read(
    data_sources: Any,
    reader_class: Any,
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """Return the key and the value of the next record. Each file is read once, in order."""
    files = get_data_files(data_sources)
    with scoped(scope, "single_pass_read"):
        filenames = input_producers.string_input_producer(
            files, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(filenames)


def get_data_files(data_sources: Any) -> list[str]:
    """Return the files that `data_sources` names: a file, a pattern, or a list of these.

    Raises:
        ValueError: there are no files, or none that match a pattern.
    """
    files: list[str]
    if isinstance(data_sources, list | tuple):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = file_io.get_matching_files(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files
