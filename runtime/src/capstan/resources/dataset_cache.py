"""The datasets that keep the elements of a pass: in memory, or in a file (cache_dataset_ops.cc).

The file has one TFRecord for each component of each element, a TensorProto. It is written under a
temporary name, and gets its name when the pass is complete. TensorFlow cannot read it.
"""

import contextlib
import functools
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from capstan import errors
from capstan.core import dtypes, tensor_proto, tfrecord
from capstan.resources import dataset, dataset_files, elements, files
from capstan.resources.dataset import Element
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Cache(dataset.Unary):
    """The elements of `source`, which the first complete pass within a `Run` keeps in memory."""

    def start(self, run: Run) -> Iterator[Element]:
        held: list[list[Element]] = run.keep(self, "elements", list)
        return iter(held[0]) if held else _Caching(self.source.start(run), held)


class _Caching(Iterator[Element]):
    def __init__(self, source: Iterator[Element], held: list[list[Element]]) -> None:
        self._source, self._held = source, held
        self._seen: list[Element] = []

    def __next__(self) -> Element:
        for element in self._source:
            elements.freeze(element)
            self._seen.append(element)
            return element
        if not self._held:
            self._held.append(self._seen)
        raise StopIteration


@dataclass(frozen=True, slots=True, eq=False)
class FileCache(dataset.Unary):
    """The elements of `source`, which the first complete pass writes to a file.

    Later passes read the file, in this process or in any other.
    """

    name: str

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        if os.path.exists(self.name):
            return _Read(self, run)
        return _Writing(self, run)


class _Read(Iterator[Element]):
    def __init__(self, plan: FileCache, run: Run) -> None:
        self._plan = plan
        file, self._records = dataset_files.records("", plan.name)
        self._close = run.close_with(self, file.close)

    def __next__(self) -> Element:
        values = []
        for number, dtype in enumerate(self._plan.spec.types):
            record = next(self._records, None)
            if record is None and not number:
                self._close()
                raise StopIteration
            values.append(_tensor(record or b"", dtype, self._plan.name))
        return tuple(values)


class _Writing(Iterator[Element]):
    """Writes the elements while a step reads them. A pass that ends early leaves no file."""

    def __init__(self, plan: FileCache, run: Run) -> None:
        self._plan, self._source = plan, plan.source.start(run)
        self._temporary = f"{plan.name}.{secrets.token_hex(8)}.tmp"
        self._file = files.of("").open(self._temporary, "wb")
        self._is_over = False
        remove = functools.partial(_remove, self._file, self._temporary)
        self._close: Callable[[], None] = run.close_with(self, remove)

    def __next__(self) -> Element:
        if self._is_over:
            raise StopIteration
        for element in self._source:
            for value in element:
                message = tensor_proto.make(np.asarray(value)).SerializeToString()
                with files.translated(self._temporary):
                    self._file.write(tfrecord.encode(message))
            return element
        self._is_over = True
        with files.translated(self._plan.name):
            self._file.close()
            os.replace(self._temporary, self._plan.name)
        self._close()
        raise StopIteration


def _remove(file: BinaryIO, name: str) -> None:
    file.close()
    with contextlib.suppress(OSError):
        os.unlink(name)


def _tensor(record: bytes, dtype: dtypes.DType, name: str) -> Any:
    from google.protobuf import message
    from tensorboard.compat.proto import tensor_pb2

    try:
        array = np.asarray(tensor_proto.ndarray(tensor_pb2.TensorProto.FromString(record)))
    except (message.DecodeError, TypeError, ValueError) as fault:
        raise _damaged(name, str(fault)) from None
    if dtypes.as_dtype(array.dtype) is not dtype:
        stored_type = dtypes.as_dtype(array.dtype).name
        raise _damaged(name, f"it has a component of the type {stored_type}, not {dtype.name}")
    return array


def _damaged(name: str, why: str) -> errors.OpError:
    text = f"The file {name} is not a cache of this dataset: {why}. Delete the file"
    return errors.DataLossError(None, None, text)
