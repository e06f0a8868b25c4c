"""The shapes of the elements of a queue, and the checks that refuse other elements."""

from capstan import errors
from capstan.core import shapes
from capstan.resources import elements

Shapes = tuple[tuple[int | None, ...], ...] | None
"""The shape of each component of an element, or None if the elements may have any shapes."""


def check(expected: Shapes, element: elements.Element) -> None:
    """Check the components of an element.

    Raises:
        InvalidArgumentError: a component has another shape.
    """
    for index, shape in enumerate(expected or ()):
        if element[index].shape != shape:
            raise mismatch(index, shape, element[index].shape)


def check_batches(expected: Shapes, batches: elements.Element) -> None:
    """Check the components of a batch of elements. Axis 0 of each component is the batch axis.

    Raises:
        InvalidArgumentError: a component is a scalar, the components differ in their number of
            elements, or an element has another shape.
    """
    for index, batch in enumerate(batches):
        if not batch.ndim:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Component {index} of a batch of elements must have at least one dimension, "
                "but it is a scalar",
            )
    count = len(batches[0])
    if expected is not None:
        for index, shape in enumerate(expected):
            if not shapes.is_compatible((count, *shape), batches[index].shape):
                raise mismatch(index, (count, *shape), batches[index].shape)
        return
    for index, batch in enumerate(batches):
        if len(batch) != count:
            raise errors.InvalidArgumentError(
                None,
                None,
                "All input tensors must have the same size in the 0th dimension. Component "
                f"{index} has {len(batch)}, and should have {count}",
            )


def mismatch(index: int, expected: shapes.Shape, given: shapes.Shape) -> errors.OpError:
    """Return the error for a component of another shape."""
    return errors.InvalidArgumentError(
        None,
        None,
        f"Shape mismatch in tuple component {index}. Expected {shapes.show(expected)}, got "
        f"{shapes.show(given)}",
    )
