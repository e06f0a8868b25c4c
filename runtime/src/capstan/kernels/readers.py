"""Kernels of readers and of whole files (core/kernels/reader_ops.cc, whole_file_read_ops.cc).

A reference or a handle of a reader is the `resources.reader.Reader` itself.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import arrays, attr_value, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string
from capstan.resources import elements, files, queue, reader, record_files, record_shuffle

_COMPRESSIONS = ("", "ZLIB", "GZIP")


def _compression(node: NodeContext, attribute: str) -> str:
    kind = attr_value.text(node.attrs[attribute])
    if kind not in _COMPRESSIONS:
        raise invalid(f"{attribute} must be one of {_COMPRESSIONS}, but is {kind!r}")
    return kind


def _lengths(node: NodeContext) -> dict[str, int]:
    lengths = {
        name: int(node.attrs[f"{name}_bytes"]) for name in ("header", "record", "footer", "hop")
    }
    for name, length in lengths.items():
        least = "> 0" if name == "record" else ">= 0"
        if length < (name == "record"):
            raise invalid(f"{name}_bytes must be {least} not {length}")
    return lengths


def _text_lines(node: NodeContext) -> record_files.Open:
    skipped = int(node.attrs["skip_header_lines"])
    if skipped < 0:
        raise invalid(f"skip_header_lines must be >= 0 not {skipped}")
    return functools.partial(record_files.Lines, skipped=skipped)


def _tf_records(node: NodeContext) -> record_files.Open:
    kind = _compression(node, "compression_type")
    return functools.partial(record_files.TFRecords, compression=kind)


def _fixed_lengths(node: NodeContext) -> record_files.Open:
    kind = _compression(node, "encoding") if "encoding" in node.attrs else ""
    lengths = _lengths(node)
    return lambda work: record_files.FixedLengthRecords(work, **lengths, compression=kind)


def _whole_file(node: NodeContext) -> record_files.Open:
    return functools.partial(record_files.SingleRecord, value=record_files.content)


def _identity(node: NodeContext) -> record_files.Open:
    return functools.partial(record_files.SingleRecord, value=lambda work: work)


def _reader(
    opened: Callable[[NodeContext], record_files.Open], *, is_whole: bool
) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        open_records = opened(node)
        kind = node.op.removesuffix("V2")
        found = resources.named(
            node,
            "reader",
            lambda name: reader.Reader(name, kind, node.name, open_records, is_whole=is_whole),
            lambda found: _verify(kind, found),
        )
        return lambda: found

    return make


def _verify(kind: str, found: reader.Reader) -> None:
    if found.kind != kind:
        raise invalid(f"The shared reader '{found.name}' has the type {found.kind}, not {kind}")


def _source(handle: Any) -> queue.Queue:
    """Return the queue of work units behind a handle."""
    found = resources.behind(handle)
    if not isinstance(found, queue.Queue):
        raise invalid("The handle of the work units is not the handle of a queue on this task")
    if len(found.types) != 1:
        raise invalid("Expected single component queue")
    if found.types[0] is not dtypes.string:
        raise invalid("Expected queue with single string component")
    return found


def _read(handle: Any, units: Any, *, done: Any, cancellation: Any) -> None:
    request = reader.Read(_source(units), None, done, cancellation)
    resources.behind(handle).take(request)


def _read_up_to(handle: Any, units: Any, count: Array, *, done: Any, cancellation: Any) -> None:
    if count.size != 1 or int(count.item()) < 0:
        raise invalid(f"num_records must be a scalar >= 0, but it is {count.tolist()}")
    request = reader.Read(_source(units), int(count.item()), done, cancellation)
    resources.behind(handle).take(request)


def _read_rows(
    handle: Any, units: Any, sink: Any, most: Array, *, done: Any, cancellation: Any
) -> None:
    count = resources.behind(sink).wanted(int(most))
    request = reader.Read(_source(units), count, done, cancellation)
    resources.behind(handle).take_rows(request)


def _records_produced(handle: Any) -> Any:
    return np.int64(resources.behind(handle).records_produced())


def _units_completed(handle: Any) -> Any:
    return np.int64(resources.behind(handle).units_completed())


def _serialized(handle: Any) -> Array:
    return elements.scalar(resources.behind(handle).serialized())


def _restore(handle: Any, state: Array) -> None:
    resources.behind(handle).restore(string(state, "Reader state"))


def _reset(handle: Any) -> None:
    resources.behind(handle).reset()


def _read_file(filename: Array) -> Array:
    return elements.scalar(files.read_all(_name(filename)))


def _write_file(filename: Array, contents: Array) -> None:
    files.write_all(_name(filename), string(contents, "Contents tensor"))


def _name(value: Array) -> str:
    array = np.asarray(value, object)
    if array.ndim:
        raise invalid(
            f"Input filename tensor must be scalar, but had shape: {shapes.show(array.shape)}"
        )
    return attr_value.text(array.item())


def _matching_files(patterns: Array) -> Array:
    found = matching(patterns)
    return arrays.strings(found, (len(found),))


def matching(patterns: Array) -> list[bytes]:
    """Return the names of the files that match one of the patterns, in order.

    Raises:
        InvalidArgumentError: the patterns are neither a scalar nor a vector.
    """
    array = np.asarray(patterns, object)
    if array.ndim > 1:
        raise invalid(
            "Input patterns tensor must be scalar or vector, but had shape: "
            f"{shapes.show(array.shape)}"
        )
    names: list[str] = []
    for pattern in map(attr_value.text, array.ravel().tolist()):
        names += files.of(pattern).matching(pattern)
    return sorted(name.encode(errors="surrogateescape") for name in names)


def _record_input(node: NodeContext) -> Function:
    count = int(node.attrs["batch_size"])
    if count < 0:
        raise invalid(f"batch_size must be >= 0 not {count}")
    options = record_shuffle.Options(
        pattern=attr_value.text(node.attrs["file_pattern"]),
        compression=_compression(node, "compression_type"),
        seed=int(node.attrs["file_random_seed"]),
        shift_ratio=float(node.attrs["file_shuffle_shift_ratio"]),
        capacity=int(node.attrs["file_buffer_size"]),
        parallelism=int(node.attrs["file_parallelism"]),
    )
    # The steps of a session go through the records together.
    shuffle = node.resources.keep(node.name, lambda: record_shuffle.RecordShuffle(options))
    return lambda: arrays.strings(shuffle.take(count), (count,))


for _version in ("", "V2"):
    for _kind, _opened in (
        ("TextLineReader", _text_lines),
        ("TFRecordReader", _tf_records),
        ("FixedLengthRecordReader", _fixed_lengths),
    ):
        register(Kernel(f"{_kind}{_version}", _reader(_opened, is_whole=False)))
    for _kind, _opened in (("WholeFileReader", _whole_file), ("IdentityReader", _identity)):
        register(Kernel(f"{_kind}{_version}", _reader(_opened, is_whole=True)))
    register(Kernel(f"ReaderRead{_version}", start=constantly(_read)))
    register(Kernel(f"ReaderReadUpTo{_version}", start=constantly(_read_up_to)))
    register(Kernel(f"_ReaderReadRows{_version}", start=constantly(_read_rows)))
    register(Kernel(f"ReaderNumRecordsProduced{_version}", constantly(_records_produced)))
    register(Kernel(f"ReaderNumWorkUnitsCompleted{_version}", constantly(_units_completed)))
    register(Kernel(f"ReaderSerializeState{_version}", constantly(_serialized)))
    register(Kernel(f"ReaderRestoreState{_version}", constantly(_restore)))
    register(Kernel(f"ReaderReset{_version}", constantly(_reset)))
register(Kernel("ReadFile", constantly(_read_file)))
register(Kernel("WriteFile", constantly(_write_file)))
register(Kernel("MatchingFiles", constantly(_matching_files)))
register(Kernel("RecordInput", _record_input))
