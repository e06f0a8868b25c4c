"""The arguments that describe the elements of queues, barriers and staging areas.

An element is a tuple of tensors, its components. Each component has a type, and may have a shape
and a name.
"""

from collections.abc import Sequence
from typing import Any

from capstan.core import dtypes, tensor_shape


def type_list(given: Any) -> list[dtypes.DType]:
    """Return one type or several types as a list."""
    return [
        dtypes.as_dtype(each) for each in (given if isinstance(given, list | tuple) else [given])
    ]


def shape_list(
    given: Any, *, may_be_partial: bool = False
) -> list[tensor_shape.TensorShape] | None:
    """Return one shape or several shapes as a list. Return None if `given` is None.

    If `may_be_partial` is true, dimensions may be unknown, and `given` must be a list of shapes.

    Raises:
        TypeError: `given` is not a list of shapes.
        ValueError: a rank is unknown, or a dimension is unknown and `may_be_partial` is false, or
            `given` is not a list of shapes and `may_be_partial` is true.
    """
    if may_be_partial and (
        not isinstance(given, list | tuple)
        or not given
        or any(each is None or isinstance(each, int) for each in given)
    ):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if given is None:
        return None
    if isinstance(given, tensor_shape.TensorShape):
        given = [given]
    if not isinstance(given, list | tuple):
        raise TypeError(
            "Shapes must be a TensorShape or a list or tuple of TensorShapes, got "
            f"{type(given)} instead."
        )
    if all(each is None or isinstance(each, int) for each in given):
        given = [given]
    known = [tensor_shape.as_shape(each) for each in given]
    if not may_be_partial and not all(shape.is_fully_defined() for shape in known):
        raise ValueError(f"All shapes must be fully defined: {known}")
    if any(shape.dims is None for shape in known):
        raise ValueError(f"All shapes must have a defined rank: {known}")
    return known


def shapes_or_unknown(given: Any, count: int) -> list[tensor_shape.TensorShape]:
    """Return the shapes of `count` components. If `given` is None, they are unknown shapes."""
    if given is None:
        return [tensor_shape.unknown_shape() for _ in range(count)]
    return [tensor_shape.TensorShape(shape) for shape in given]


def name_list(given: Any, count: int) -> list[str] | None:
    """Return one name or several names as a list. Return None if `given` is None.

    Raises:
        ValueError: there are not `count` names.
    """
    if given is None:
        return None
    names = list(given) if isinstance(given, list | tuple) else [given]
    if len(names) != count:
        raise ValueError(
            "List of names must have the same length as the list of dtypes, received "
            f"len(names)={len(names)},len(dtypes)={count}"
        )
    return names


def values(element: Any) -> Sequence[Any]:
    """Return the components of an element, which is a value, a list, or a dictionary."""
    if isinstance(element, dict):
        return list(element.values())
    return element if isinstance(element, list | tuple) else [element]
