"""Initial kernels of convolutions that keep the norm of their input (python/ops/init_ops.py).

See Xiao et al., "Dynamical Isometry and a Mean Field Theory of CNNs" (2018).
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import random_ops
from capstan.api.init_ops import Initializer
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw

_Kernel = dict[tuple[int, ...], Any]
"""The square matrix at each place of a kernel."""


class _NormPreserving(Initializer):
    _ranks: tuple[int, ...]
    """How many axes a kernel may have."""

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        """Create the initializer of a kernel, which multiplies the norm by `gain`.

        Raises:
            ValueError: the dtype is not one of floats.
        """
        kind = dtypes.as_dtype(dtype)
        if not kind.is_floating:
            raise ValueError(f"Expected floating point type, got {kind}.")
        self.gain, self.seed, self.dtype = gain, seed, kind

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """Return the kernel [*sizes, inputs, outputs].

        Raises:
            ValueError: the kernel has another rank, its sizes differ where they must not, or it
                has more inputs than outputs.
        """
        found: list[Any] = tensor_shape.as_shape(shape).as_list()
        if len(found) not in self._ranks:
            raise ValueError(
                f"The tensor to initialize must have {' or '.join(map(str, self._ranks))} axes, "
                f"but its shape is {tuple(found)}"
            )
        *sizes, inputs, outputs = found
        if inputs > outputs:
            raise ValueError(f"In_filters {inputs} cannot be greater than out_filters {outputs}.")
        kind = dtypes.as_dtype(dtype or self.dtype)
        draws = _Draws(self.seed, kind, outputs)
        kernel = self._kernel(sizes, draws)
        first = raw.Mul(draws.orthogonal()[:inputs], raw.Cast(self.gain, DstT=kind))
        zeros = convert.constant(np.zeros((inputs, outputs)), kind)
        matrices = [
            raw.MatMul(first, kernel[place]) if place in kernel else zeros
            for place in itertools.product(*map(range, sizes))
        ]
        return raw.Reshape(raw.Pack(matrices), np.array(found, np.int32))

    def _kernel(self, sizes: Sequence[int], draws: "_Draws") -> _Kernel:
        raise NotImplementedError("A class of initializers has its own _kernel")

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class _Draws:
    """Random square matrices. With a seed, each has the next seed."""

    def __init__(self, seed: int | None, dtype: dtypes.DType, size: int) -> None:
        self._seed, self.dtype, self.size = seed, dtype, size

    def _normal(self, shape: Sequence[int]) -> Any:
        drawn = random_ops.random_normal(shape, dtype=self.dtype, seed=self._seed)
        if self._seed is not None:
            self._seed += 1
        return drawn

    def orthogonal(self) -> Any:
        """Return an orthogonal matrix."""
        q, r = raw.Qr(self._normal([self.size, self.size]))
        return raw.Mul(q, raw.Sign(raw.MatrixDiagPart(r)))

    def projections(self) -> tuple[Any, Any]:
        """Return a projection to a random subspace, and the projection to its complement."""
        basis = self.orthogonal()
        is_kept = raw.Cast(raw.Greater(self._normal([self.size]), 0), DstT=self.dtype)
        kept = raw.Mul(basis, is_kept)
        projection = raw.MatMul(kept, kept, transpose_b=True)
        return projection, raw.Sub(np.eye(self.size), projection)

    def corners(self, rank: int) -> _Kernel:
        """Return a kernel of size 2 along each axis: products of a projection for each axis."""
        pairs = [self.projections() for _ in range(rank)]
        corners = {}
        for place in itertools.product(range(2), repeat=rank):
            first, *rest = (pair[side] for pair, side in zip(pairs, place, strict=True))
            for matrix in rest:
                first = raw.MatMul(first, matrix)
            corners[place] = first
        return corners


class ConvolutionDeltaOrthogonal(_NormPreserving):
    """A kernel that is 0 but for an orthogonal matrix in its middle."""

    _ranks = (3, 4, 5)

    def _kernel(self, sizes: Sequence[int], draws: _Draws) -> _Kernel:
        middle = tuple((size - 1) // 2 for size in sizes)
        return {middle: convert.constant(np.eye(draws.size), draws.dtype)}


class _Orthogonal(_NormPreserving):
    def _kernel(self, sizes: Sequence[int], draws: _Draws) -> _Kernel:
        if len(set(sizes)) > 1:
            raise ValueError(f"Kernel sizes must be equal, not {tuple(sizes)}.")
        kernel: _Kernel = {(0,) * len(sizes): convert.constant(np.eye(draws.size), draws.dtype)}
        for _ in range(sizes[0] - 1):
            kernel = _convolved(kernel, draws.corners(len(sizes)))
        return kernel


def _convolved(one: _Kernel, other: _Kernel) -> _Kernel:
    terms: dict[tuple[int, ...], list[Any]] = {}
    for (place, x), (step, y) in itertools.product(one.items(), other.items()):
        target = tuple(a + b for a, b in zip(place, step, strict=True))
        terms.setdefault(target, []).append(raw.MatMul(x, y))
    return {place: raw.AddN(parts) for place, parts in terms.items()}


class ConvolutionOrthogonal1D(_Orthogonal):
    """A kernel [width, inputs, outputs] of a convolution that is orthogonal as a whole."""

    _ranks = (3,)


class ConvolutionOrthogonal2D(_Orthogonal):
    """A kernel [height, width, inputs, outputs] of an orthogonal convolution, for equal sizes."""

    _ranks = (4,)


class ConvolutionOrthogonal3D(_Orthogonal):
    """A kernel [depth, height, width, inputs, outputs] of an orthogonal convolution."""

    _ranks = (5,)


convolutional_delta_orthogonal = ConvolutionDeltaOrthogonal
convolutional_orthogonal_1d = ConvolutionOrthogonal1D
convolutional_orthogonal_2d = ConvolutionOrthogonal2D
convolutional_orthogonal_3d = ConvolutionOrthogonal3D
