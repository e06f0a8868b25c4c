"""Readers: TensorFlow's ReaderBase (core/framework/reader_base.cc).

A reader takes a work unit, such as the name of a file, from a queue, and returns the records of the
unit one after the other. Reads are served in the order of their arrival. A read that needs a work
unit waits for the queue by a callback, and holds no thread.
"""

import functools
import threading
from collections import deque

from capstan import errors
from capstan.core import arrays, cancellation, resource_name
from capstan.resources import (
    elements,
    queue,
    reader_state,
    record_files,
    resource,
    waiters,
    work_unit,
)


class Read:
    """A read that waits for its turn or for a work unit.

    `count` is the largest number of records. If it is None, the outputs are scalars.
    """

    def __init__(
        self,
        source: queue.Queue,
        count: int | None,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        self.source = source
        self.wanted = 1 if count is None else count
        self.is_single = count is None
        self.done = done
        self.cancellation = cancelled
        self.records: list[record_files.Record] = []
        self.resets = 0  # how often the reader had been reset when it gave the records
        self.error: errors.OpError | None = None

    def answer(self) -> None:
        """Give the step its outputs. Called without the lock of the reader."""
        if self.error is not None:
            self.done((), self.error)
        elif self.is_single:
            self.done(tuple(map(elements.scalar, self.records[0])), None)
        else:
            columns = zip(*self.records, strict=True) if self.records else ((), ())
            shape = (len(self.records),)
            self.done(tuple(arrays.strings(column, shape) for column in columns), None)


class Reader(resource.Resource):
    """The records of the work units of a queue. Thread-safe.

    `open_records` opens a work unit. If `is_whole`, every unit is one record.
    """

    def __init__(
        self,
        name: resource_name.ResourceName,
        kind: str,
        node: str,
        open_records: record_files.Open,
        *,
        is_whole: bool = False,
    ) -> None:
        super().__init__(name)
        self.kind = kind
        self._label = f"{kind} '{node}'"
        self._open = open_records
        self._is_whole = is_whole
        self._lock = threading.Lock()
        self._waiting: deque[Read] = deque()
        self._records: record_files.Records | None = None
        self._returned: deque[record_files.Record] = deque()
        """Records that steps have given back. They come before those of the work unit."""
        self._work = b""
        self._started = self._finished = self._produced = self._resets = 0
        self._fault: errors.OpError | None = None
        self._abandoned: errors.OpError | None = None

    def __del__(self) -> None:
        self._close()

    # --- reading

    def take(self, request: Read) -> None:
        """Answer a read now, or when the queue gives a work unit."""
        with self._lock:
            is_first = not self._waiting
            if self._abandoned is not None:
                request.error, is_over = self._abandoned, True
            else:
                is_over = (is_first or bool(self._returned)) and self._advance(request)
            if not is_over:
                self._waiting.append(request)
        if is_over:
            request.answer()
        elif is_first:
            self._serve(request)
        else:
            request.cancellation.register(functools.partial(self._cancel, request))

    def take_rows(self, request: Read) -> None:
        """Answer a read as `take`. If its step fails (`waiters.at_failure`), the answer goes back.

        The next reads get its error, or the records that the step has not added to a queue, unless
        the reader is reset meanwhile.
        """
        waiters.at_failure(request.cancellation, functools.partial(self._take_back, request))
        self.take(request)

    def _take_back(self, request: Read, passed_on: int) -> None:
        rest = request.records[passed_on:]
        with self._lock:
            if request.resets != self._resets:
                return
            self._returned.extendleft(reversed(rest))
            self._produced -= len(rest)
            self._fault = self._fault or request.error

    def _advance(self, request: Read) -> bool:
        """Read for `request` until it is over, or needs a work unit. Return whether it is over.

        If a record after the first one is damaged, the request gets the records before it, and the
        next request the error. TensorFlow loses these records.
        """
        request.resets = self._resets
        self._give_returned(request)
        if self._fault is not None:
            if not request.records:
                request.error, self._fault = self._fault, None
            return True
        try:
            while len(request.records) < request.wanted:
                if self._records is None:
                    return bool(request.records)
                record = self._records.read()
                if record is not None:
                    self._produced += 1
                    request.records.append(record)
                if record is None or self._is_whole:
                    self._finish()
                    if request.records:
                        break
        except Exception as fault:  # noqa: BLE001 - the error of the step
            error = errors.from_exception(fault)
            if request.records:
                self._fault = error
            else:
                request.error = error
        return True

    def _give_returned(self, request: Read) -> None:
        while self._returned and len(request.records) < request.wanted:
            request.records.append(self._returned.popleft())
            self._produced += 1

    def _finish(self) -> None:
        self._close()
        self._finished = self._started

    def _close(self) -> None:
        if self._records is not None:
            self._records.close()
            self._records = None

    def _serve(self, first: Read | None) -> None:
        """Take work units for the waiting reads, until a queue makes the first of them wait."""
        while first is not None:
            unit = work_unit.WorkUnit(functools.partial(self._continue, first))
            first.source.dequeue(unit, first.cancellation)
            if not unit.has_arrived():
                return
            first = self._use(first, unit)

    def _continue(self, first: Read, unit: work_unit.WorkUnit) -> None:
        """Go on when a unit arrives later.

        The thread that brings the unit belongs to another step. It must not wait for a disk, so
        another thread opens the file.
        """
        work = threading.Thread(
            target=lambda: self._serve(self._use(first, unit)),
            name=f"capstan-reader-{self.name}",
            daemon=True,
        )
        try:
            work.start()
        except RuntimeError:  # the system has no more threads
            work.run()

    def _use(self, first: Read, unit: work_unit.WorkUnit) -> Read | None:
        """Read from a work unit for the waiting reads. Return the read that needs the next unit."""
        over = []
        # The disk may be slow. Other steps can read the counts or give up their reads meanwhile.
        work, records, fault = unit.opened(self._open)
        with self._lock:
            error = self._abandoned or fault
            if error is None:
                self._close()
                self._work, self._records = work, records
                self._started += 1
            elif records is not None:
                records.close()
            if error is not None:
                first.error = error
                over.append(self._waiting.popleft())
            while self._waiting and self._advance(self._waiting[0]):
                over.append(self._waiting.popleft())
            following = self._waiting[0] if self._waiting else None
        for request in over:
            request.answer()
        return following

    def _cancel(self, request: Read, error: errors.OpError) -> None:
        """End a read that waits behind another read. The queue cancels the first read."""
        with self._lock:
            if request not in self._waiting or self._waiting[0] is request:
                return
            self._waiting.remove(request)
        request.done((), error)

    def abandon(self, error: errors.OpError) -> None:
        with self._lock:
            self._abandoned = error
            behind = list(self._waiting)[1:]
            while len(self._waiting) > 1:
                self._waiting.pop()
        for request in behind:
            request.done((), error)

    # --- state

    def records_produced(self) -> int:
        """Return the number of records that reads have returned."""
        with self._lock:
            return self._produced

    def units_completed(self) -> int:
        """Return the number of work units whose last record was read."""
        with self._lock:
            return self._finished

    def reset(self) -> None:
        """Forget the current work unit, and set the counts to 0."""
        with self._lock:
            self._reset()

    def _reset(self) -> None:
        self._close()
        self._fault = None
        self._returned.clear()
        self._resets += 1
        self._started = self._finished = self._produced = 0
        self._work = b""

    def serialized(self) -> bytes:
        """Return the state as a ReaderBaseState.

        Raises:
            UnimplementedError: readers of this kind cannot save their state.
        """
        if not self._is_whole:
            raise errors.UnimplementedError(None, None, "Reader SerializeState")
        with self._lock:
            counts = self._started, self._finished, self._produced
            state = reader_state.ReaderState(*counts, self._work)
        return state.serialized()

    def restore(self, state: bytes) -> None:
        """Set the state that `serialized` returned. After an error the reader is reset.

        Raises:
            InvalidArgumentError: `state` is not a valid state, or was saved inside a work unit.
            UnimplementedError: readers of this kind cannot restore a state.
        """
        with self._lock:
            try:
                if not self._is_whole:
                    raise errors.UnimplementedError(None, None, "Reader RestoreState")
                saved = reader_state.parse(state, self._label)
            except errors.OpError:
                self._reset()
                raise
            self._close()
            self._started, self._finished, self._produced = (
                saved.started,
                saved.finished,
                saved.produced,
            )
            self._work = saved.work
