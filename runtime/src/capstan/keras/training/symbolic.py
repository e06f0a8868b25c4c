"""Inputs, targets and weights that are tensors of the graph: each step computes them again
(`GraphExecutionFunction` of python/keras/backend.py).
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from capstan import errors
from capstan.api import variables
from capstan.framework import composite, facts, nest, opdef, sparse_tensor
from capstan.framework import graph as graphs
from capstan.keras.training import batches

_TENSORS = (
    graphs.Tensor,
    variables.Variable,
    sparse_tensor.SparseTensor,
    composite.Composite,
)


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, sparse or ragged ones included, or a variable."""
    return isinstance(value, _TENSORS)


def is_fed(tensor: Any) -> bool:
    """Return whether a tensor is a placeholder, whose value each step gets."""
    parts = composite.parts(tensor)
    if parts is not None:
        return any(map(is_fed, parts))
    return opdef.role(tensor.op.type) in (facts.Role.PLACEHOLDER, facts.Role.DEFAULT)


def has_tensors(*given: Any) -> bool:
    """Return whether a structure of data has a tensor."""
    return any(is_tensor(each) for each in nest.flatten(list(given)))


def are_composite(*given: Any) -> bool:
    """Return whether all tensors in a structure of data are sparse or ragged."""
    found = filter(is_tensor, nest.flatten(list(given)))
    return all(composite.is_composite(each) for each in found)


def values(session: Any, *given: Any) -> list[Any]:
    """Return structures of data with the values of their tensors, all from one step. Blocks."""
    data = list(given)
    tensors = [each for each in nest.flatten(data) if is_tensor(each)]
    found = iter(session.run(tensors) if tensors else ())
    return list(nest.mapped(lambda each: next(found) if is_tensor(each) else each, data))


class Symbolic:
    """Steps on data that have tensors. Arrays beside them are the whole data of each step.

    Raises:
        ValueError: there is no number of steps.
    """

    samples: int | None = None

    def __init__(
        self, data: list[Any], class_weight: Any, session: Any, names: batches.Names, steps: Any
    ) -> None:
        if steps is None:
            raise without_steps()
        self.steps: int | None = steps
        self._data, self._class_weight = data, class_weight
        # Tensors have the shapes that their program chose: a loss may broadcast them.
        self._session, self._names = session, dataclasses.replace(names, expected=(), shapes=())

    def __iter__(self) -> Iterator[batches.Batch]:
        for _ in range(self.steps or 0):
            try:
                x, y, weights = values(self._session, *self._data)
            except errors.OutOfRangeError:
                return  # An iterator has ended. The trainer counts the batches, and warns.
            yield batches.of_arrays(x, y, weights, self._class_weight, self._names)


def without_steps() -> ValueError:
    """Return the error of data that have no end."""
    return ValueError(
        "If your data is in the form of symbolic tensors, you should specify the `steps_per_epoch` "
        "argument of `fit`, `validation_steps`, or `steps` of `evaluate` and `predict`, because "
        "tensors have no number of batches"
    )
