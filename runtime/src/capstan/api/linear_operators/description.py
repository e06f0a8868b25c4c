"""Hints, types and shapes of linear operators (python/ops/linalg/linear_operator.py)."""

import abc
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from capstan.api import check_ops, module, operator_dispatch
from capstan.api.scoped import scoped
from capstan.core import dimension, dtypes, shapes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw

Hint = bool | None


class Description(operator_dispatch.LinearOperand, module.Module, abc.ABC):
    """The hints, the type and the shape of an operator."""

    def __init__(
        self, dtype: Any, graph_parents: Any = None, is_non_singular: Hint = None,
        is_self_adjoint: Hint = None, is_positive_definite: Hint = None, is_square: Hint = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        """Keep the hints, and add those that they imply.

        Raises:
            ValueError: the hints contradict each other, or a graph parent is not a tensor.
        """
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        parents = list(graph_parents or [])
        for place, parent in enumerate(parents):
            if parent is None or not check_ops.is_tensor(parent):
                raise ValueError(f"Graph parent item {place} is not a Tensor; {parent}.")
        self._is_square_hint = is_square
        self._dtype = dtypes.as_dtype(dtype).base_dtype if dtype else dtype
        self._graph_parents = parents
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._name = name or type(self).__name__

    def _scope(self, name: str) -> AbstractContextManager[str]:
        return scoped(f"{self.name}/{name}", "", self._graph_parents)

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def name(self) -> str:
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors and variables that the operator depends on."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> Hint:
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> Hint:
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> Hint:
        return self._is_positive_definite

    @property
    def is_square(self) -> Hint:
        """Whether the last two sizes are equal: as the shape says, else as the hints say.

        Raises:
            ValueError: the hint is False, and the operator is square.
        """
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        is_square = None if rows is None or columns is None else rows == columns
        if self._is_square_hint is False and is_square:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return is_square if self._is_square_hint is None else self._is_square_hint

    @abc.abstractmethod
    def _shape(self) -> shapes.Shape:
        """Return the static shape."""

    @property
    def shape(self) -> tensor_shape.TensorShape:
        return tensor_shape.TensorShape(self._known_shape())

    def _known_shape(self) -> shapes.Shape:
        # The classes of programs return a TensorShape.
        return tensor_shape.to_shape(self._shape())

    @abc.abstractmethod
    def _shape_tensor(self) -> Any:
        """Return the shape as a tensor. The static shape is not fully known."""

    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """Return the shape as a tensor of int32: a constant if the shape is known."""
        with self._scope(name):
            known = self._known_shape()
            if shapes.is_fully_defined(known):
                return convert.constant(np.array(known, np.int32))
            return self._shape_tensor()

    @property
    def batch_shape(self) -> tensor_shape.TensorShape:
        known = self._known_shape()
        return tensor_shape.TensorShape(None if known is None else known[:-2])

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        with self._scope(name):
            known = self.batch_shape.internal
            if shapes.is_fully_defined(known):
                return convert.constant(np.array(known, np.int32), name="batch_shape")
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self) -> int | None:
        return self.shape.ndims

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        with self._scope(name):
            known = self.tensor_rank
            return raw.Size(self.shape_tensor()) if known is None else convert.constant(known)

    @property
    def domain_dimension(self) -> dimension.Dimension:
        """The number of columns N."""
        return self._dimension(-1)

    @property
    def range_dimension(self) -> dimension.Dimension:
        """The number of rows M."""
        return self._dimension(-2)

    def _dimension(self, axis: int) -> dimension.Dimension:
        known = self._known_shape()
        return dimension.Dimension(None if known is None else known[axis])

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        return self._dimension_tensor(-1, name)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        return self._dimension_tensor(-2, name)

    def _dimension_tensor(self, axis: int, name: str) -> Any:
        with self._scope(name):
            known = self._dimension(axis).value
            return self.shape_tensor()[axis] if known is None else convert.constant(known)
