"""The attributes of a node: reading them from keywords, adding defaults, checking them."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from capstan.core import attr_value, dimension, dtypes, function, tensor_shape
from capstan.framework import opdef

# No real node has this many tensors. Without a limit, a malformed node could ask for a huge list.
_MAX_TENSORS: Final = 1 << 16

_LISTS: Final[dict[str, type[Any]]] = {
    "OUT_TYPE": dtypes.DType,
    "U": dtypes.DType,
    "allowed_devices": bytes,
    "branches": function.Reference,
    "context_dense_keys": bytes,
    "context_sparse_keys": bytes,
    "debug_ops_spec": bytes,
    "debug_urls": bytes,
    "dense_keys": bytes,
    "feature_list_dense_keys": bytes,
    "feature_list_dense_missing_assumed_empty": bytes,
    "feature_list_sparse_keys": bytes,
    "field_names": bytes,
    "labels": bytes,
    "optimization_configs": bytes,
    "ragged_keys": bytes,
    "row_partition_types": bytes,
    "sources": bytes,
    "sparse_keys": bytes,
    "targets": bytes,
}
"""The classes of the elements of lists whose rows do not tell the class."""


def given(row: opdef.OpDef, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes among `keywords` as a node holds them. Attributes of None are left out.

    Raises:
        TypeError: a value is of the wrong kind.
    """
    if not keywords:
        return {}
    inputs = {argument.name for argument in row.input_arguments}
    implied = {argument.type for argument in row.input_arguments} | {
        argument.number for argument in row.input_arguments
    }
    attrs: dict[str, Any] = {}
    for name, value in keywords.items():
        if name in inputs or value is None:
            continue
        if name in row.attrs:
            attrs[name] = _read(name, value, row.attrs[name])
        elif name.startswith("_"):
            attrs[name] = value
        elif name in implied:
            attrs[name] = value if isinstance(value, int) else dtypes.as_dtype(value).base_dtype
    return attrs


def complete(row: opdef.OpDef, attrs: dict[str, Any]) -> None:
    """Fill in the defaults, and check that the row allows the values.

    Raises:
        TypeError: an attribute without default is missing, or a type is not allowed.
        ValueError: a string is not allowed, a number is too small, or a list is too short.
    """
    for name, default in row.attrs.items():
        if name in attrs:
            continue
        if isinstance(default, type):
            raise TypeError(f"No argument for attr {name} of op {row.name}")
        attrs[name] = default
    _check_types(row, attrs, row.input_arguments)
    for name, choices in row.choices.items():
        if attrs[name] not in choices:
            listed = '", "'.join(map(attr_value.text, choices))
            raise ValueError(
                f"Attr '{name}' of '{row.name}' Op passed string '{attr_value.text(attrs[name])}' "
                f'not in: "{listed}".'
            )
    for name, minimum in row.minima.items():
        value = attrs[name]
        is_list = isinstance(value, list | tuple)
        if (len(value) if is_list else value) < minimum:
            passed = f"list of length {len(value)}" if is_list else value
            raise ValueError(
                f"Attr '{name}' of '{row.name}' Op passed {passed} less than minimum {minimum}."
            )


def verify(row: opdef.OpDef, attrs: Mapping[str, Any]) -> None:
    """Check the attributes of a node that a client sent. The defaults must be filled in.

    Raises:
        TypeError: an attribute is missing or of the wrong kind, or the row does not allow a type.
    """
    for name, default in row.attrs.items():
        value = attrs.get(name)
        if value is default or type(value) is default is not list:
            continue
        if name not in attrs:
            raise TypeError(f"attr '{name}' is missing")
        if not _is_kind(name, value, default):
            raise TypeError(f"attr '{name}' is {value!r}")
    for argument in (*row.input_arguments, *row.output_arguments):
        if argument.number is not None or type(attrs.get(argument.type)) is not dtypes.DType:
            _verify_argument(argument, attrs)
    _check_types(row, attrs, ())


def _verify_argument(argument: opdef.Argument, attrs: Mapping[str, Any]) -> None:
    """Raise TypeError unless the types and the number of the argument's tensors are valid."""
    kinds = attrs.get(argument.type)
    for kind in kinds if isinstance(kinds, list | tuple) else [kinds]:
        if not isinstance(kind, dtypes.DType | None):
            raise TypeError(f"attr '{argument.type}' is {kinds!r}")
    if argument.number is None:
        return
    number = attrs.get(argument.number, 1)
    if not _is_kind(argument.number, number, int) or not 0 <= number <= _MAX_TENSORS:
        raise TypeError(f"attr '{argument.number}' is {number!r}")


def _check_types(
    row: opdef.OpDef, attrs: Mapping[str, Any], arguments: Sequence[opdef.Argument]
) -> None:
    """Raise TypeError unless the row allows all types. The error names one of the `arguments`."""
    for name, allowed in row.allowed.items():
        value = attrs.get(name)
        if type(value) is dtypes.DType and value in allowed:
            continue
        parameters = {argument.type: argument.name for argument in arguments}
        for dtype in value if isinstance(value, list | tuple) else [value]:
            check_type(parameters.get(name, name), dtype, row.types[name])


def check_type(parameter: str, dtype: dtypes.DType | None, allowed: Any) -> None:
    """Raise TypeError unless `dtype` is among `allowed`."""
    if dtype is not None and dtype not in allowed:
        raise TypeError(
            f"Value passed to parameter '{parameter}' has DataType {dtype.name} not in list of "
            f"allowed values: {', '.join(other.name for other in allowed)}"
        )


def _is_kind(name: str, value: Any, default: Any) -> bool:
    """Return whether `value` is of the kind of `default`, a class or a value of the class."""
    kind = default if isinstance(default, type) else type(default)
    if issubclass(kind, list | tuple):
        element = element_kind(name, default)
        return isinstance(value, list | tuple) and all(
            _is_kind(name, each, element) for each in value
        )
    if kind is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is bytes:
        return isinstance(value, bytes | str)
    return isinstance(value, kind)


def _read(name: str, value: Any, default: Any) -> Any:
    """Convert `value` to the kind of `default`, a class or a value of the class."""
    kind = default if isinstance(default, type) else type(default)
    if issubclass(kind, list | tuple):
        return _read_list(name, value, default)
    if isinstance(value, attr_value.Opaque):
        return value
    if kind is dtypes.DType:
        return _read_type(name, value)
    if kind is tensor_shape.TensorShape:
        try:
            return tensor_shape.as_shape(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"Error converting {name} to a TensorShape: {error}") from None
    if kind is np.ndarray:
        return np.asarray(value)
    return _read_plain(name, value, kind)


def element_kind(name: str, default: Any) -> type[Any]:
    """Return the class of the elements of the list attribute `name`.

    `default` is an entry of a row's `attrs`. If it does not tell the class, the name does.
    """
    if default is opdef.Floats or isinstance(default, opdef.Floats):
        return float
    if not isinstance(default, type) and default:
        return type(default[0])
    if name in _LISTS:
        return _LISTS[name]
    if name.endswith("shapes"):
        return tensor_shape.TensorShape
    return dtypes.DType if "types" in name.lower() or name.startswith("T") else int


def _read_list(name: str, value: Any, default: Any) -> list[Any]:
    if not isinstance(value, list | tuple | tensor_shape.TensorShape):
        raise TypeError(f"Expected list for attr {name}, obtained {type(value).__name__} instead.")
    kind = element_kind(name, default)
    return [_read(name, element, kind) for element in value]


def _read_type(name: str, value: Any) -> dtypes.DType:
    try:
        return dtypes.as_dtype(value).base_dtype
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{name}' not {value!r}.") from None


def _read_plain(name: str, value: Any, kind: type[Any]) -> Any:
    if kind is function.Reference and isinstance(value, str):
        return function.Reference(value)
    if kind is bytes and isinstance(value, str | bytes):
        return value.encode() if isinstance(value, str) else value
    if kind is bool and isinstance(value, bool | np.bool_):
        return bool(value)
    if kind is int and isinstance(value, numbers.Integral | dimension.Dimension):
        return int(value)
    if kind is float and isinstance(value, numbers.Real):
        return float(value)
    wanted = {bytes: "string", str: "string", bool: "bool", int: "int", float: "float"}.get(kind)
    if wanted is None:
        return value
    raise TypeError(f"Expected {wanted} for argument '{name}' not {value!r}.")
