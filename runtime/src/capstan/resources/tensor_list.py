"""Lists of tensors, in which TensorFlow 2 keeps its TensorArrays and the values that the gradient
of a loop needs (core/kernels/tensor_list.h).

A list is a value: an operation on it returns another list. All versions of a list share one Python
list, which holds the elements of the version that was used last. Every other version stores a
single change, by which it differs from a newer version. A loop that pushes, pops or sets one
element in each iteration therefore takes the same time for every iteration. If versions that are
many changes apart are used in turn, each gets a list of its own.
"""

import threading
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from capstan import errors
from capstan.core import dtypes, shapes, tensor_shape, varint
from capstan.resources import variant

_MAX_STEPS = 16
"""A version that is further away from the shared list gets a list of its own. The number is a
guess."""

_PUSH, _POP, _SET = range(3)
_Change = tuple[int, int, Any]
"""A change of the shared list: its kind, an index, and an element."""


class _Version:
    """The elements of a list at one time. Thread-safe."""

    __slots__ = ("_change", "_elements", "_lock", "_newer")

    def __init__(self, elements: list[Any], lock: Any) -> None:
        self._lock = lock
        self._elements: list[Any] | None = elements
        self._newer: _Version | None = None
        self._change: _Change = (_POP, 0, None)
        """Turns the elements of `_newer` into the elements of this version."""

    def __len__(self) -> int:
        with self._lock:
            return len(self._current())

    def element(self, index: int) -> Any:
        with self._lock:
            return self._current()[index]

    def elements(self) -> list[Any]:
        """Return a copy of the elements."""
        with self._lock:
            return list(self._current())

    def changed(self, changes: Iterable[_Change]) -> "_Version":
        """Return the version after the changes. The elements without a change are not copied."""
        version = self
        with self._lock:
            for change in changes:
                newer = _Version(version._current(), self._lock)
                version._elements, version._newer = None, newer
                version._change = _apply(change, newer._current())
                version = newer
        return version

    def _current(self) -> list[Any]:
        """Make the shared list hold the elements of this version, and return it."""
        older: list[_Version] = []
        version = self
        while version._elements is None:
            older.append(version)
            assert version._newer is not None
            version = version._newer
        shared = version._elements
        if len(older) > _MAX_STEPS:
            shared = list(shared)
            for each in reversed(older):
                _apply(each._change, shared)
            self._elements, self._newer = shared, None
            return shared
        for each in reversed(older):
            inverse = _apply(each._change, shared)
            version._elements, version._newer, version._change = None, each, inverse
            each._elements, each._newer = shared, None
            version = each
        return shared


def _apply(change: _Change, elements: list[Any]) -> _Change:
    """Apply a change, and return the change that undoes it."""
    kind, index, element = change
    if kind == _PUSH:
        elements.append(element)
        return _POP, 0, None
    if kind == _POP:
        return _PUSH, 0, elements.pop()
    undo = (_SET, index, elements[index])
    elements[index] = element
    return undo


class TensorList(variant.Variant):
    """A list of tensors of one dtype, whose shapes fit `element_shape`.

    An element that was never set is None. `max_num_elements` is -1 if there is no limit. The caller
    checks the elements that it adds, and must not change them later.
    """

    __slots__ = ("_version", "element_dtype", "element_shape", "max_num_elements")
    type_name: ClassVar[str] = "tensorflow::TensorList"

    def __init__(
        self,
        element_dtype: dtypes.DType,
        element_shape: shapes.Shape,
        elements: Sequence[Any] = (),
        max_num_elements: int = -1,
    ) -> None:
        self.element_dtype = element_dtype
        self.element_shape = element_shape
        self.max_num_elements = max_num_elements
        self._version = _Version(list(elements), threading.Lock())

    @property
    def length(self) -> int:
        return len(self._version)

    @property
    def elements(self) -> list[Any]:
        """All elements, in order."""
        return self._version.elements()

    def element(self, index: int) -> Any:
        """Return the element at `index`, which must be less than the length."""
        return self._version.element(index)

    def pushed(self, element: Any) -> "TensorList":
        """Return this list with `element` added at the end."""
        return self._changed([(_PUSH, 0, element)])

    def popped(self) -> "TensorList":
        """Return this list, which must not be empty, without its last element."""
        return self._changed([(_POP, 0, None)])

    def with_element(self, index: int, element: Any) -> "TensorList":
        """Return this list with `element` at `index`. A list that is too short grows."""
        missing = index - self.length
        if missing < 0:
            return self._changed([(_SET, index, element)])
        return self._changed([*[(_PUSH, 0, None)] * missing, (_PUSH, 0, element)])

    def with_elements(self, elements: Sequence[Any]) -> "TensorList":
        """Return a list of the same dtype, element shape and limit with other elements."""
        return TensorList(self.element_dtype, self.element_shape, elements, self.max_num_elements)

    def zeros_like(self) -> "TensorList":
        zeros = [None if each is None else variant.zeros_like(each) for each in self.elements]
        return TensorList(self.element_dtype, self.element_shape, zeros)

    def plus(self, other: variant.Variant) -> "TensorList":
        assert isinstance(other, TensorList)
        if self.element_dtype is not other.element_dtype:
            raise _invalid(
                "Trying to add two lists of tensors of different dtypes. One is "
                f"{self.element_dtype.name} and the other is {other.element_dtype.name}"
            )
        try:
            shape = shapes.merge(self.element_shape, other.element_shape)
        except ValueError:
            raise _invalid(
                "Trying to add two lists of tensors with incompatible element shapes. One is "
                f"{shown(self.element_shape)} and the other is {shown(other.element_shape)}"
            ) from None
        mine, theirs = self.elements, other.elements
        if len(mine) != len(theirs):
            raise _invalid(
                f"Trying to add two lists of tensors with different lengths. One is {len(mine)} "
                f"and the other is {len(theirs)}"
            )
        sums = [
            (two if one is None else one) if one is None or two is None else variant.added(one, two)
            for one, two in zip(mine, theirs, strict=True)
        ]
        return TensorList(self.element_dtype, shape, sums)

    def moved(self, copy: variant.Copy) -> "TensorList":
        kind = self.element_dtype
        return self.with_elements(
            [None if each is None else variant.moved(each, kind, copy) for each in self.elements]
        )

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        elements = self.elements
        unset = [index for index, element in enumerate(elements) if element is None]
        numbers = [len(unset), *unset, self.element_dtype.as_datatype_enum]
        # TensorFlow writes the limit as a 64-bit number without a sign.
        metadata = b"".join(map(varint.encode, (*numbers, self.max_num_elements % (1 << 64))))
        shape = tensor_shape.TensorShape(self.element_shape).as_proto().SerializeToString()
        return metadata + shape, [
            (element, self.element_dtype) for element in elements if element is not None
        ]

    def _changed(self, changes: Iterable[_Change]) -> "TensorList":
        changed = object.__new__(TensorList)
        changed.element_dtype = self.element_dtype
        changed.element_shape = self.element_shape
        changed.max_num_elements = self.max_num_elements
        changed._version = self._version.changed(changes)
        return changed


def from_parts(metadata: bytes, tensors: Sequence[Any]) -> TensorList:
    """Return the list that `TensorList.parts` describes.

    Raises:
        ValueError: the metadata is malformed.
    """
    from tensorboard.compat.proto import tensor_shape_pb2

    numbers: list[int] = []
    at, wanted = 0, 1
    while len(numbers) < wanted:
        number, at = varint.decode(metadata, at)
        wanted = number + 3 if not numbers else wanted
        numbers.append(number)
    count, *unset, dtype, limit = numbers
    if any(index >= count + len(tensors) for index in unset) or len({*unset}) < count:
        raise ValueError(f"the unset elements are {unset} of {count + len(tensors)}")
    shape = tensor_shape_pb2.TensorShapeProto.FromString(metadata[at:])
    remaining = iter(tensors)
    places = set(unset)
    elements = [
        None if index in places else next(remaining) for index in range(count + len(tensors))
    ]
    return TensorList(
        dtypes.as_dtype(dtype),
        tensor_shape.to_shape(shape),
        elements,
        limit - (1 << 64) if limit >> 63 else limit,
    )


def shown(shape: shapes.Shape) -> str:
    """Write a shape as TensorFlow does for the elements of a list."""
    return "<unknown>" if shape is None else shapes.show(shape)


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)
