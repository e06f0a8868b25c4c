"""`tf.linalg.LinearOperatorBlockDiag` (python/ops/linalg/linear_operator_block_diag.py)."""

import functools
import operator as functions
from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, control_flow_ops, creation_ops
from capstan.api.linear_operators import arguments, derived, operator
from capstan.core import shapes
from capstan.framework.raw import raw


class LinearOperatorBlockDiag(derived.OfSeveral):
    """Square blocks on the diagonal, and zeros elsewhere."""

    def __init__(
        self, operators: Sequence[operator.LinearOperator], is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = True, name: str | None = None,
    ) -> None:  # fmt: skip
        """Take the blocks from the upper left to the lower right.

        Raises:
            TypeError: the operators have different types.
            ValueError: there is no operator, one is not square, or they contradict the hints.
        """
        implied = {
            "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }  # fmt: skip
        super().__init__(operators, "direct sum", implied, True, "_ds_", name)
        if not (is_square and all(each.is_square for each in self._operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")

    def _shape(self) -> shapes.Shape:
        sizes = [each.domain_dimension.value for each in self._operators]
        known = [size for size in sizes if size is not None]
        size = sum(known) if len(known) == len(sizes) else None
        return shapes.concatenate(arguments.broadcast_batch(self._operators), (size, size))

    def _shape_tensor(self) -> Any:
        size = functools.reduce(functions.add, self._sizes())
        batch = arguments.broadcast_batch_tensor(self._operators)
        return raw.ConcatV2([batch, raw.Pack([size, size])], 0)

    def _sizes(self) -> list[Any]:
        return [each.domain_dimension_tensor() for each in self._operators]

    def _parts(self, x: Any, adjoint_arg: bool) -> Any:
        """Return the rows of `x` that belong to each block, or its columns."""
        known = [each.domain_dimension.value for each in self._operators]
        sizes = raw.Pack(self._sizes()) if None in known else known
        return array_ops.split(x, sizes, axis=-1 if adjoint_arg else -2)

    def _joined(self, results: list[Any]) -> Any:
        return array_ops.concat(arguments.broadcast_matrices(results), -2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        parts = self._parts(x, adjoint_arg)
        return self._joined([
            each.matmul(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for each, part in zip(self._operators, parts, strict=True)
        ])  # fmt: skip

    def _determinant(self) -> Any:
        return functools.reduce(functions.mul, [each.determinant() for each in self._operators])

    def _log_abs_determinant(self) -> Any:
        terms = [each.log_abs_determinant() for each in self._operators]
        return functools.reduce(functions.add, terms)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        parts = self._parts(rhs, adjoint_arg)
        return self._joined([
            each.solve(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for each, part in zip(self._operators, parts, strict=True)
        ])  # fmt: skip

    def _diag_part(self) -> Any:
        columns = [raw.ExpandDims(each.diag_part(), -1) for each in self._operators]
        return raw.Squeeze(self._joined(columns), squeeze_dims=[-1])

    def _trace(self) -> Any:
        return functools.reduce(functions.add, [each.trace() for each in self._operators])

    def _to_dense(self) -> Any:
        blocks = arguments.broadcast_matrices([each.to_dense() for each in self._operators])
        sizes, rows = self._sizes(), []
        for place, block in enumerate(blocks):
            zeros = [
                creation_ops.zeros(
                    raw.ConcatV2([raw.Shape(block)[:-1], raw.ExpandDims(size, 0)], 0), self.dtype
                )
                for size in sizes
            ]
            row = [*zeros[:place], block, *zeros[place + 1 :]]
            rows.append(raw.ConcatV2(row, -1) if len(row) > 1 else block)
        dense = raw.ConcatV2(rows, -2) if len(rows) > 1 else raw.Identity(rows[0])
        dense.set_shape(self.shape)
        return dense

    def _assert_non_singular(self) -> Any:
        return control_flow_ops.group([each.assert_non_singular() for each in self._operators])

    def _assert_self_adjoint(self) -> Any:
        return control_flow_ops.group([each.assert_self_adjoint() for each in self._operators])

    def _assert_positive_definite(self) -> Any:
        checks = [each.assert_positive_definite() for each in self._operators]
        return control_flow_ops.group(checks)
