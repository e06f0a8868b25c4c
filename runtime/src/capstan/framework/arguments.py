"""The inputs of a new operation.

`bind` assigns the inputs to the op's arguments. `tensors` converts them and infers the type and
count attributes from them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.framework import attributes, convert, opdef
from capstan.framework import graph as graphs


def bind(row: opdef.OpDef, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of each input argument by name.

    Raises:
        TypeError: an input is missing or given twice, or a keyword names no argument.
    """
    names = [argument.name for argument in row.input_arguments]
    if len(inputs) > len(names):
        raise TypeError(
            f"op {row.name} takes {len(names)} inputs ({', '.join(names)}), but got {len(inputs)}; "
            "attributes are given by keyword"
        )
    given = dict(zip(names, inputs, strict=False))
    for name in names:
        if name in keywords:
            if name in given:
                raise TypeError(f"op {row.name} got two values for argument '{name}'")
            given[name] = keywords[name]
        if name not in given:
            raise TypeError(f"No argument for input {name} of op {row.name}")
    for name in keywords:
        if name not in given and name not in row.attrs and not name.startswith("_"):
            _check_attribute(row, name)
    return {name: given[name] for name in names}


def _check_attribute(row: opdef.OpDef, name: str) -> None:
    """Refuse a keyword that is neither the type nor the length of an input argument."""
    if not any(name in (argument.type, argument.number) for argument in row.input_arguments):
        raise TypeError(f"op {row.name} got an unexpected keyword argument '{name}'")


def tensors(
    row: opdef.OpDef, given: Mapping[str, Any], attrs: dict[str, Any]
) -> tuple[list[graphs.Tensor], list[graphs.Tensor]]:
    """Convert the inputs of an operation. Return all tensors, and the tensors that are references.

    Add the attributes that the inputs imply to `attrs`: types (`T`) and counts (`N`).

    Raises:
        TypeError: an input has a type that does not fit the op or the other inputs, or is not a
            variable although the op needs one.
    """
    reader = _Reader(row, given, attrs)
    for argument in row.input_arguments:
        reader.read(argument, given[argument.name])
    return reader.tensors, reader.refs


def dtype_of(value: Any) -> dtypes.DType | None:
    """Return the base type of a tensor or variable, or None for any other value."""
    if isinstance(value, graphs.Tensor) or hasattr(value, "_as_tensor"):
        dtype: dtypes.DType = value.dtype
        return dtype.base_dtype
    return None


class _Reader:
    """Reads the arguments of one operation in order. Each may fix the types of later arguments."""

    def __init__(self, row: opdef.OpDef, given: Mapping[str, Any], attrs: dict[str, Any]) -> None:
        self.row = row
        self.attrs = attrs
        self.tensors: list[graphs.Tensor] = []
        self.refs: list[graphs.Tensor] = []
        # The argument that fixed each attribute, for the messages.
        self._fixed_by: dict[str, str] = {}
        self._promised = self._types_of_tensors(given)

    def read(self, argument: opdef.Argument, value: Any) -> None:
        if argument.number is not None or self._is_type_list(argument):
            self._read_list(argument, value)
            return
        wanted = self._wanted(argument)
        tensor = self._convert(argument, value, wanted)
        if argument.is_ref:
            self._check_ref(argument, tensor)
        self._fix(argument.type, tensor.dtype.base_dtype, argument)
        self.tensors.append(tensor)

    def _types_of_tensors(self, given: Mapping[str, Any]) -> dict[str, dtypes.DType]:
        """Return the type attributes that the tensors among the arguments will fix."""
        promised: dict[str, dtypes.DType] = {}
        for argument in self.row.input_arguments:
            value = given[argument.name]
            if self._is_packed(argument, value):
                continue
            for element in value if isinstance(value, list | tuple) else [value]:
                dtype = dtype_of(element)
                if dtype is not None:
                    promised.setdefault(argument.type, dtype)
        return promised

    def _is_packed(self, argument: opdef.Argument, value: Any) -> bool:
        """Return whether a list becomes one tensor of the default type of its argument."""
        is_one = argument.number is None and isinstance(value, list | tuple)
        return is_one and isinstance(self.row.attrs.get(argument.type), dtypes.DType)

    def _is_attribute(self, name: str) -> bool:
        return name in self.row.attrs or name not in _TYPE_NAMES

    def _is_type_list(self, argument: opdef.Argument) -> bool:
        default = self.row.attrs.get(argument.type)
        return default is list or isinstance(default, list | tuple)

    def _wanted(self, argument: opdef.Argument) -> dtypes.DType | None:
        """Return the type that the op or an earlier argument has fixed, or None."""
        if not self._is_attribute(argument.type):
            return dtypes.as_dtype(argument.type)
        return self.attrs.get(argument.type)

    def _preferred(self, argument: opdef.Argument, value: Any) -> dtypes.DType | None:
        """Return the type to try for a value that is not a tensor: an array's, if it is allowed.

        A Python number takes the attribute's default.
        """
        if argument.type in self._promised:
            return self._promised[argument.type]
        if isinstance(value, np.ndarray | np.generic):
            for allowed in self.row.types.get(argument.type, ()):
                if allowed.name == value.dtype.name:
                    return allowed
        default = self.row.attrs.get(argument.type)
        return default if isinstance(default, dtypes.DType) else None

    def _convert(
        self, argument: opdef.Argument, value: Any, wanted: dtypes.DType | None
    ) -> graphs.Tensor:
        try:
            return convert.convert_to_tensor(
                value,
                wanted,
                argument.name,
                self._preferred(argument, value),
                as_ref=argument.is_ref,
            )
        except TypeError:
            if wanted is None:
                raise
            raise TypeError(
                f"Expected {wanted.name} passed to parameter '{argument.name}' of op "
                f"'{self.row.name}', got {value!r} of type '{type(value).__name__}' instead."
            ) from None
        except ValueError as error:
            value_type = dtype_of(value)
            if value_type is None or wanted is None:
                raise ValueError(
                    f"Tried to convert '{argument.name}' to a tensor and failed. Error: {error}"
                ) from None
            raise TypeError(self._mismatch(argument, value_type, wanted)) from None

    def _mismatch(
        self, argument: opdef.Argument, value_type: dtypes.DType, wanted: dtypes.DType
    ) -> str:
        prefix = (
            f"Input '{argument.name}' of '{self.row.name}' Op has type {value_type.name} that does "
            "not match"
        )
        if not self._is_attribute(argument.type):
            return f"{prefix} expected type of {wanted.name}."
        other = self._fixed_by.get(argument.type, argument.type)
        return f"{prefix} type {wanted.name} of argument '{other}'."

    def _fix(self, name: str, dtype: dtypes.DType, argument: opdef.Argument) -> None:
        if not self._is_attribute(name) or name in self.attrs:
            return
        allowed = self.row.types.get(name)
        if allowed is not None:
            attributes.check_type(argument.name, dtype, allowed)
        self.attrs[name] = dtype
        self._fixed_by[name] = argument.name

    def _check_ref(self, argument: opdef.Argument, tensor: graphs.Tensor) -> None:
        if not tensor.dtype.is_ref_dtype:
            raise TypeError(
                f"'{self.row.name}' Op requires that input '{argument.name}' be a mutable tensor "
                "(e.g.: a tf.Variable)"
            )
        self.refs.append(tensor)

    def _read_list(self, argument: opdef.Argument, values: Any) -> None:
        if not isinstance(values, list | tuple):
            raise TypeError(
                f"Expected list for '{argument.name}' argument to '{self.row.name}' Op, not "
                f"{values}."
            )
        if self._is_type_list(argument):
            tensors = convert.convert_n_to_tensor(values, name=argument.name)
            self.attrs[argument.type] = [tensor.dtype.base_dtype for tensor in tensors]
        else:
            tensors = self._same_type(argument, values)
            if tensors:
                self._fix(argument.type, tensors[0].dtype.base_dtype, argument)
        if argument.number is not None:
            self._count(argument, argument.number, len(tensors))
        for tensor in tensors if argument.is_ref else ():
            self._check_ref(argument, tensor)
        self.tensors += tensors

    def _same_type(self, argument: opdef.Argument, values: Sequence[Any]) -> list[graphs.Tensor]:
        wanted = self._wanted(argument) or self._promised.get(argument.type)
        try:
            tensors = [
                convert.convert_to_tensor(
                    value, wanted, f"{argument.name}_{index}", as_ref=argument.is_ref
                )
                for index, value in enumerate(values)
            ]
        except (TypeError, ValueError):
            tensors = None
        if tensors is not None and len({tensor.dtype.base_dtype for tensor in tensors}) <= 1:
            return tensors
        raise TypeError(
            f"Tensors in list passed to '{argument.name}' of '{self.row.name}' Op have types "
            f"[{', '.join(_type_name(value) for value in values)}] {self._disagreement(argument)}"
        )

    def _disagreement(self, argument: opdef.Argument) -> str:
        if not self._is_attribute(argument.type):
            return f"that do not match expected type {argument.type}."
        if argument.type in self.attrs:
            fixed = self.attrs[argument.type].name
            return f"that do not match type {fixed} inferred from earlier arguments."
        return "that don't all match."

    def _count(self, argument: opdef.Argument, name: str, count: int) -> None:
        may_be_empty = name in self.row.attrs or self.row.minima.get(name) == 0
        if count < 1 and not may_be_empty:
            raise ValueError(
                f"List argument '{argument.name}' to '{self.row.name}' Op with length {count} "
                "shorter than minimum length 1."
            )
        if self.attrs.setdefault(name, count) != count:
            raise ValueError(
                f"List argument '{argument.name}' to '{self.row.name}' Op with length {count} must "
                f"match length {self.attrs[name]} of argument "
                f"'{self._fixed_by.get(name, name)}'."
            )
        self._fixed_by.setdefault(name, argument.name)


_TYPE_NAMES = frozenset(dtype.name for dtype in dtypes.BASE_DTYPES)


def _type_name(value: Any) -> str:
    try:
        return convert.convert_to_tensor(value).dtype.base_dtype.name
    except (TypeError, ValueError):
        return "<NOT CONVERTIBLE TO TENSOR>"
