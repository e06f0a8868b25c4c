"""`Dataset.from_generator`: the values of Python generators as elements."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from capstan.api import data_functions, data_structure, script_ops
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class _Running:
    """The generators of the passes that run, by number. Thread-safe, as its dict is."""

    def __init__(self, generator: Callable[..., Any], spec: Any) -> None:
        self._generator = generator
        self._spec = spec
        self._leaves = data_structure.flatten(spec)
        self._numbers = itertools.count()
        self._iterators: dict[int, Iterator[Any]] = {}

    def begin(self, *args: Any) -> Any:
        number = next(self._numbers)
        self._iterators[number] = iter(self._generator(*args))
        return np.int64(number)

    def following(self, number: Any) -> list[Any]:
        values = next(self._iterators[int(number)])
        try:
            flat = _leaves(self._spec, values)
        except (TypeError, ValueError) as fault:
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {data_structure.legacy_types(self._spec)}, but the "
                f"yielded element was {values}."
            ) from fault
        return [_converted(value, leaf) for value, leaf in zip(flat, self._leaves, strict=True)]

    def end(self, number: Any) -> Any:
        self._iterators.pop(int(number), None)
        return np.int64(0)


def dataset(
    generator: Callable[..., Any], output_types: Any, output_shapes: Any, args: Any
) -> tuple[Any, Any]:
    """Return the variant and the structure of `Dataset.from_generator(...)`."""
    if not callable(generator):
        raise TypeError("`generator` must be callable.")
    spec = data_structure.from_legacy(output_types, output_shapes)
    running = _Running(generator, spec)
    inputs = () if args is None else tuple(convert.convert_to_tensor(value) for value in args)
    number = data_structure.TensorSpec([], dtypes.int64)
    kinds = data_structure.types(spec)

    def following(state: Any) -> Any:
        values = script_ops.py_func(running.following, [state], kinds)
        return data_structure.element(spec, values)

    begin = data_functions.trace(
        lambda: script_ops.py_func(running.begin, inputs, dtypes.int64),
        "Dataset.from_generator()",
    )
    each = data_functions.trace(following, "Dataset.from_generator()", number)
    end = data_functions.trace(
        lambda state: script_ops.py_func(running.end, [state], dtypes.int64),
        "Dataset.from_generator()",
        number,
    )
    tensor = raw.GeneratorDataset(
        begin.captured,
        each.captured,
        end.captured,
        init_func=begin.reference,
        next_func=each.reference,
        finalize_func=end.reference,
        **data_structure.flat(spec),
    )
    return tensor, spec


def _leaves(spec: Any, value: Any) -> list[Any]:
    if isinstance(spec, tuple):
        return [
            leaf for part, inner in zip(spec, value, strict=True) for leaf in _leaves(part, inner)
        ]
    if isinstance(spec, dict):
        if value.keys() != spec.keys():
            raise ValueError("the keys differ")
        return [leaf for key in sorted(spec) for leaf in _leaves(spec[key], value[key])]
    return [value]


def _converted(value: Any, leaf: Any) -> Any:
    try:
        array = (
            np.asarray(value)
            if leaf.dtype is dtypes.string
            else np.asarray(value, leaf.dtype.as_numpy_dtype)
        )
    except (TypeError, ValueError) as fault:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The "
            f"expected type was {leaf.dtype.name}, but the yielded element was {value}."
        ) from fault
    if not leaf.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape "
            f"{leaf.shape} was expected."
        )
    return array
