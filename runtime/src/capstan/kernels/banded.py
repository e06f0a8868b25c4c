"""The kernel of systems with banded triangular matrices
(core/kernels/linalg/banded_triangular_solve_op.cc)."""

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _solve(node: NodeContext) -> Function:
    is_lower, is_adjoint = bool(node.attrs["lower"]), bool(node.attrs["adjoint"])

    def solve(bands: Array, rhs: Array) -> Array:
        _check(bands, rhs)
        if is_lower:
            bands = bands[..., ::-1, :]
        if not bands[..., -1, :].all():
            raise invalid("Input matrix is not invertible.")
        # Now the last band is the diagonal, and the band before it is its neighbour.
        batch = np.broadcast_shapes(bands.shape[:-2], rhs.shape[:-2])
        found = np.array(np.broadcast_to(rhs, (*batch, *rhs.shape[-2:])))
        if is_adjoint:
            bands = np.conj(bands)
        count, size = bands.shape[-2:]
        # An adjoint matrix is triangular on the other side.
        from_first = is_lower != is_adjoint
        for row in range(size) if from_first else reversed(range(size)):
            for distance in range(1, min(count, row + 1 if from_first else size - row)):
                other = row - distance if from_first else row + distance
                place = other if is_adjoint else row
                factor = bands[..., -1 - distance, place, np.newaxis]
                found[..., row, :] -= factor * found[..., other, :]
            found[..., row, :] /= bands[..., -1, row, np.newaxis]
        return found

    return solve


def _check(bands: Array, rhs: Array) -> None:
    for place, operand in enumerate((bands, rhs)):
        if operand.ndim < 2:
            raise invalid(f"In[{place}] ndims must be >= 2: {operand.ndim}")
    if not bands.shape[-2]:
        raise invalid("Input matrix must have at least one band")
    if bands.shape[-1] != rhs.shape[-2]:
        raise invalid(
            f"Matrix and rhs must have the same size, but have the shapes {show(bands.shape)} and "
            f"{show(rhs.shape)}"
        )


register(Kernel("BandedTriangularSolve", _solve))
