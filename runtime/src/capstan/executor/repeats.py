"""Repeat a run of nodes on a device without the host.

A run is a function of arrays (`executor.runs`). A device records the work of a call, and does the
same work again with one call (`Device.record`). Arrays of the device, and arrays that arrive from
host memory, are copied to where the work reads them. All else is part of the recording: the shapes
and dtypes of the arrays, the values of other arrays in host memory, and the memory of variables. A
call that differs in one of them gets a recording of its own.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.hardware import device
from capstan.kernels import memory
from capstan.resources import variable

CALLS_BEFORE = 2
"""A call is recorded after this many equal calls, when its kernels are compiled and its variables
have values."""

MOST_RECORDINGS = 4
"""The recordings of a run. Each holds memory. The number is a guess."""

MOST_CALLS = 32
"""A run that has made this many calls for nothing, since one was repeated, records none any more.

A run also counts at most this many kinds of calls. The number is a guess.
"""

_HOST_BYTES = 1 << 10
"""A call with larger arrays in host memory is not recorded, because they would be compared in each
call. The limit is a guess."""


@dataclass(frozen=True, slots=True)
class _Recording:
    inputs: Sequence[Array]
    results: Sequence[Array]
    variables: Sequence[Array | None]
    """The memory of the variables."""
    launch: Callable[[], None]


class Repeats:
    """A function of arrays that one device computes. Not thread-safe: a step has it for itself."""

    def __init__(
        self,
        function: Callable[..., Sequence[Array]],
        home: device.Device,
        variables: Sequence[variable.Variable],
        changed: Sequence[variable.Variable],
        shared: Sequence[bool],
        arriving: Sequence[bool],
        kept: Sequence[bool],
    ) -> None:
        """`function` uses the `variables`, and may change those in `changed`.

        An input that is `arriving` is in host memory, and `function` gets it on the device.
        An input that is `shared` has the memory of a variable, and changes with the variable. A
        result that is `kept` lies in a buffer of the step, or has the memory of a variable. All
        other results are new arrays in each call.
        """
        self._function = function
        self._home = home
        self._variables = variables
        self._changed = variable.in_lock_order(*changed)
        self._shared = shared
        self._arriving = arriving
        self._kept = kept
        self._calls: dict[Hashable, int] = {}
        self._recordings: dict[Hashable, _Recording] = {}
        self._useless = 0

    def __call__(self, *inputs: Array) -> Sequence[Array]:
        """Return the results of the function, as new arrays or in the buffers of the step."""
        if self._useless >= MOST_CALLS:
            return self._function(*self._arrived(inputs))
        key = self._key(inputs)
        recording = self._recordings.get(key)
        if recording is not None:
            self._fill(recording.inputs, inputs)
            if self._launch(recording):
                self._useless = 0
                return self._results(recording)
            del self._recordings[key]
        arrived = self._arrived(inputs)
        self._useless += 1
        if self._useless >= MOST_CALLS:
            self._stop()
        if key is None or not self._is_due(key):
            return self._function(*arrived)
        recorded = self._record(arrived)
        if recorded is None or not self._launch(recorded):
            return self._function(*arrived)
        self._recordings[key] = recorded
        return self._results(recorded)

    def _arrived(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return the inputs with those that arrive on the device."""
        return [
            self._home.copy_in(value) if arrives else value
            for value, arrives in zip(inputs, self._arriving, strict=True)
        ]

    def _fill(self, places: Sequence[Array], inputs: Sequence[Array]) -> None:
        """Copy the inputs of a call to where recorded work reads them."""
        for place, value, arrives in zip(places, inputs, self._arriving, strict=True):
            if arrives:
                self._home.copy_in(value, place)
            elif value is not place and not memory.is_on_host(place):
                self._home.copy(value, place)

    def _is_due(self, key: Hashable) -> bool:
        """Count a call. Return whether to record it."""
        if self._useless >= MOST_CALLS or len(self._recordings) >= MOST_RECORDINGS:
            return False
        calls = self._calls.pop(key, 0)
        self._calls[key] = calls + 1
        if len(self._calls) > MOST_CALLS:  # The first is the kind whose last call is longest ago.
            del self._calls[next(iter(self._calls))]
        return calls >= CALLS_BEFORE

    def _record(self, inputs: Sequence[Array]) -> _Recording | None:
        """Return the recording of a call, or None if the device cannot repeat this run at all.

        The device may also have too little memory for a recording.
        """
        before = [cell.array for cell in self._variables]
        try:
            held = list(map(self._held, inputs, self._shared))
            results, launch = self._home.record(lambda: self._function(*held))
        except (device.NotRepeatable, errors.ResourceExhaustedError):
            self._stop()
            return None
        return _Recording(held, results, before, launch)

    def _stop(self) -> None:
        """Record nothing any more, and give back the memory of the recordings."""
        self._useless = MOST_CALLS
        self._recordings.clear()

    def _launch(self, recording: _Recording) -> bool:
        """Let the device do recorded work. Return whether the variables have the same memory."""
        for cell in self._changed:
            cell.lock.acquire()
        try:
            for cell, array in zip(self._variables, recording.variables, strict=True):
                if cell.array is not array:
                    return False
            for cell in self._changed:
                # A variable that is being sent gets other memory before it changes.
                if cell.is_pinned and cell.array is not cell.writable():
                    return False
            recording.launch()
            return True
        finally:
            for cell in self._changed:
                cell.lock.release()

    def _results(self, recording: _Recording) -> Sequence[Array]:
        """Return the results of a launch. If copies do not fit, give up the recording for them."""
        try:
            return [
                value if is_kept or memory.is_on_host(value) else self._home.duplicate(value)
                for value, is_kept in zip(recording.results, self._kept, strict=True)
            ]
        except errors.ResourceExhaustedError:
            self._stop()
            return recording.results

    def _held(self, value: Array, is_shared: bool) -> Array:
        """Return the array that recorded work reads for an input."""
        if memory.is_on_host(value):
            return np.array(value)
        return value if is_shared else self._home.duplicate(value)

    def _key(self, inputs: Sequence[Any]) -> Hashable:
        """Return the facts about the inputs that a recording depends on, or None if they are large.

        The values of arrays that arrive are no such facts.
        An array of a variable stands for itself. A recording keeps it, so no other has its `id`.
        """
        parts: list[Hashable] = []
        for value, is_shared, arrives in zip(inputs, self._shared, self._arriving, strict=True):
            facts = (value.shape, value.dtype.char)
            if arrives or not memory.is_on_host(value):
                parts.append((*facts, id(value) if is_shared else 0))
            elif value.dtype.hasobject or value.nbytes > _HOST_BYTES:
                return None
            else:
                parts.append((*facts, value.tobytes()))
        return tuple(parts)
