"""Readers: TensorFlow's ReaderBase (core/framework/reader_base.cc).

A reader takes a work unit, such as the name of a file, from a queue, and returns the records of the
unit one after the other. Reads are served in the order of their arrival. A read that needs a work
unit waits for the queue by a callback, and holds no thread.
"""

import functools
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from capstan import errors
from capstan.core import arrays, cancellation, resource_name
from capstan.resources import elements, queue, record_files, resource, waiters


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
        self._work = b""
        self._started = self._finished = self._produced = 0
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
                is_over = is_first and self._advance(request)
            if not is_over:
                self._waiting.append(request)
        if is_over:
            request.answer()
        elif is_first:
            self._serve(request)
        else:
            request.cancellation.register(functools.partial(self._cancel, request))

    def _advance(self, request: Read) -> bool:
        """Read for `request` until it is over, or needs a work unit. Return whether it is over."""
        try:
            while len(request.records) < request.wanted:
                if self._records is None:
                    return False
                record = self._records.read()
                if record is not None:
                    self._produced += 1
                    request.records.append(record)
                if record is None or self._is_whole:
                    self._finish()
                    if request.records:
                        break
        except Exception as fault:  # noqa: BLE001 - the error of the step
            request.error = errors.from_exception(fault)
        return True

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
            unit = _WorkUnit(functools.partial(self._continue, first))
            first.source.dequeue(unit, first.cancellation)
            if not unit.has_arrived():
                return
            first = self._use(first, unit)

    def _continue(self, first: Read, unit: "_WorkUnit") -> None:
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

    def _use(self, first: Read, unit: "_WorkUnit") -> Read | None:
        """Read from a work unit for the waiting reads. Return the read that needs the next unit."""
        over = []
        # The disk may be slow. Other steps can read the counts or give up their reads meanwhile.
        work, records, fault = _opened(self._open, unit)
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
        self._started = self._finished = self._produced = 0
        self._work = b""

    def serialized(self) -> bytes:
        """Return the state as a ReaderBaseState.

        Raises:
            UnimplementedError: the reader is inside a file.
        """
        from capstan.core import reader_messages

        if not self._is_whole:
            raise errors.UnimplementedError(None, None, "Reader SerializeState")
        with self._lock:
            state = reader_messages.ReaderBaseState(
                work_started=self._started,
                work_finished=self._finished,
                num_records_produced=self._produced,
                current_work=self._work,
            )
        return bytes(state.SerializeToString())

    def restore(self, state: bytes) -> None:
        """Set the state that `serialized` returned. After an error the reader is reset.

        Raises:
            InvalidArgumentError: `state` is no state of a reader between two work units.
            UnimplementedError: readers of this kind have no such state.
        """
        with self._lock:
            try:
                self._restore(state)
            except errors.OpError:
                self._reset()
                raise

    def _restore(self, state: bytes) -> None:
        from google.protobuf import message

        from capstan.core import reader_messages

        if not self._is_whole:
            raise errors.UnimplementedError(None, None, "Reader RestoreState")
        try:
            saved = reader_messages.ReaderBaseState.FromString(state)
        except message.DecodeError:
            raise errors.InvalidArgumentError(
                None, None, f"Could not parse state for {self._label}: {_escaped(state)}"
            ) from None
        counts = saved.work_started, saved.work_finished, saved.num_records_produced
        problem = ""
        if min(counts) < 0:
            problem = "Unexpected negative value"
        elif saved.work_started > saved.work_finished:
            problem = "Inconsistent work started vs. finished"
        if problem:
            raise errors.InvalidArgumentError(
                None, None, f"{problem} when restoring in {self._label}: {saved}"
            )
        self._close()
        self._started, self._finished, self._produced = counts
        self._work = saved.current_work


class _WorkUnit:
    """An element of the queue that a read waits for. The queue calls it once."""

    def __init__(self, arrived_late: Any) -> None:
        self._lock = threading.Lock()
        self._arrived_late = arrived_late
        self._has_arrived = self._is_awaited = False
        self.components: Sequence[Any] = ()
        self.error: errors.OpError | None = None

    def __call__(
        self,
        outputs: Sequence[Any],
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
        /,
    ) -> bool:
        with self._lock:
            self.components, self.error = outputs, error
            self._has_arrived, is_late = True, self._is_awaited
        if is_late:
            self._arrived_late(self)
        return True

    def has_arrived(self) -> bool:
        """Return whether the element is there. If not, `arrived_late` is called when it comes."""
        with self._lock:
            self._is_awaited = True
            return self._has_arrived


def _opened(
    open_records: record_files.Open, unit: _WorkUnit
) -> tuple[bytes, record_files.Records | None, errors.OpError | None]:
    """Open the work unit in an element of the queue. Return its name, its records and the error."""
    if unit.error is not None:
        return b"", None, unit.error
    if unit.components[0].size != 1:
        fault = "Expected to dequeue a one-element string tensor"
        return b"", None, errors.InvalidArgumentError(None, None, fault)
    work = unit.components[0].item()
    try:
        return work, open_records(work), None
    except Exception as fault:  # noqa: BLE001 - the error of the step
        return work, None, errors.from_exception(fault)


def _escaped(text: bytes) -> str:
    return ascii(text)[2:-1]
