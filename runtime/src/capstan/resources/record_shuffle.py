"""The records of TFRecord files, epoch after epoch, in random order
(core/kernels/record_yielder.cc).

TensorFlow reads ahead in threads. Here, the caller reads the files.
"""

import itertools
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from capstan import errors
from capstan.resources import files, record_files


@dataclass(frozen=True, slots=True)
class Options:
    """`pattern` has patterns of file names with commas between them.

    In each epoch the shuffled list of files is rotated by `shift_ratio` of its length, if that is
    at least 0 and less than 1. Up to `parallelism` files are open at the same time. The next record
    is drawn from `capacity` records.
    """

    pattern: str
    compression: str
    seed: int
    shift_ratio: float
    capacity: int
    parallelism: int


class RecordShuffle:
    """Each record comes once in each epoch. Equal seeds give equal orders. Thread-safe."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._random = random.Random(options.seed)
        self._records = self._drawn()
        self._error: errors.OpError | None = None
        self._lock = threading.Lock()

    def take(self, count: int) -> list[bytes]:
        """Return the next records. Blocks while files are read. An error comes in each later call.

        Raises:
            NotFoundError: no file matches the pattern, or the files have no record.
            DataLossError: a file is damaged.
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            try:
                return list(itertools.islice(self._records, count))
            except errors.OpError as error:
                self._error = error
                raise

    def _drawn(self) -> Iterator[bytes]:
        """Yield the records in random order, without end."""
        while True:
            held: list[bytes] = []
            is_empty = True
            for record in self._epoch():
                is_empty = False
                held.append(record)
                if len(held) >= self._options.capacity:
                    yield self._draw(held)
            if is_empty:
                raise self._missing("records")
            while held:
                yield self._draw(held)

    def _draw(self, held: list[bytes]) -> bytes:
        place = self._random.randrange(len(held))
        held[place], held[-1] = held[-1], held[place]
        return held.pop()

    def _epoch(self) -> Iterator[bytes]:
        """Yield the records of all files, a record of each open file in turn."""
        names = self._shuffled_files()
        step = max(1, self._options.parallelism)
        reading = [self._read(names[first::step]) for first in range(min(step, len(names)))]
        while reading:
            for source in list(reading):
                record = next(source, None)
                if record is None:
                    reading.remove(source)
                else:
                    yield record

    def _shuffled_files(self) -> list[str]:
        patterns = self._options.pattern.split(",")
        names = sorted(name for each in patterns for name in files.of(each).matching(each))
        if not names:
            raise self._missing("files")
        self._random.shuffle(names)
        ratio = self._options.shift_ratio
        first = int(ratio * len(names)) if 0 <= ratio < 1 else 0
        return names[first:] + names[:first]

    def _read(self, names: Sequence[str]) -> Iterator[bytes]:
        for name in names:
            work = name.encode(errors="surrogateescape")
            with closing(record_files.TFRecords(work, self._options.compression)) as file:
                while (entry := file.read()) is not None:
                    yield entry[1]

    def _missing(self, what: str) -> errors.NotFoundError:
        return errors.NotFoundError(None, None, f"Found no {what} at {self._options.pattern}")
