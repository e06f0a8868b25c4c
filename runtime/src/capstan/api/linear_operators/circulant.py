"""The circulant matrices of `tf.linalg` (python/ops/linalg/linear_operator_circulant.py).

The discrete Fourier transform makes a circulant matrix diagonal. Its elements are the spectrum.
"""

from typing import Any

import numpy as np

from capstan.api import (
    check_ops,
    complex_ops,
    creation_ops,
    math_ops,
    matrix_ops,
    reduce_ops,
    spectral_ops,
)
from capstan.api.linear_operators import arguments, operator
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import convert, operators
from capstan.framework.raw import raw

_TRANSFORMS = {
    1: (spectral_ops.fft, spectral_ops.ifft),
    2: (spectral_ops.fft2d, spectral_ops.ifft2d),
    3: (spectral_ops.fft3d, spectral_ops.ifft3d),
}


def to_complex(x: Any) -> Any:
    """Return complex numbers of the precision of `x`."""
    if x.dtype.is_complex:
        return x
    is_double = x.dtype.base_dtype is dtypes.float64
    return math_ops.cast(x, dtypes.complex128 if is_double else dtypes.complex64)


class BlockCirculant(operator.LinearOperator):
    """Circulant matrices whose blocks are circulant, `_block_depth` - 1 times.

    `spectrum` has the shape [B1, ..., Bb, N1, ..., Nd], where d is the depth. The matrices have
    N1 * ... * Nd rows. `input_output_dtype` is the type of the operator's tensors.
    """

    _block_depth = 1

    def __init__(
        self, spectrum: Any, input_output_dtype: Any = dtypes.complex64,
        is_non_singular: operator.Hint = None, is_self_adjoint: operator.Hint = None,
        is_positive_definite: operator.Hint = None, is_square: operator.Hint = True,
        name: str | None = None,
    ) -> None:  # fmt: skip
        name = name or type(self).__name__
        with scoped(name, "", (spectrum,)):
            self._spectrum = convert.convert_to_tensor(spectrum, name="spectrum")
            rank = self._spectrum.shape.ndims
            if rank is not None and rank < self._block_depth:
                raise ValueError(
                    f"Argument spectrum must have at least {self._block_depth} dimensions.  "
                    f"Found: {self._spectrum}"
                )
            if not self._spectrum.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError(
                        "A real spectrum always corresponds to a self-adjoint operator."
                    )
                is_self_adjoint = True
            if is_square is False:
                raise ValueError("A [[nested] block] circulant operator is always square.")
            super().__init__(
                input_output_dtype, [self._spectrum], is_non_singular, is_self_adjoint,
                is_positive_definite, True, name,
            )  # fmt: skip

    @property
    def block_depth(self) -> int:
        """The depth of nesting: 1 for circulant matrices, 2 with blocks, 3 with nested blocks."""
        return self._block_depth

    @property
    def block_shape(self) -> tensor_shape.TensorShape:
        known = self._spectrum.shape.internal
        return tensor_shape.TensorShape(None if known is None else known[-self._block_depth :])

    def block_shape_tensor(self) -> Any:
        return raw.Shape(self._spectrum)[-self._block_depth :]

    @property
    def spectrum(self) -> Any:
        return self._spectrum

    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """Return the inverse Fourier transform of the spectrum: the first column as a block."""
        with self._scope(name):
            inverse = _TRANSFORMS[self._block_depth][1]
            return math_ops.cast(inverse(to_complex(self._spectrum)), self.dtype)

    def _shape(self) -> shapes.Shape:
        known = self._spectrum.shape.internal
        if known is None:
            return None
        sizes = known[-self._block_depth :]
        size = shapes.num_elements(sizes)
        return (*known[: -self._block_depth], size, size)

    def _shape_tensor(self) -> Any:
        shape = raw.Shape(self._spectrum)
        size = reduce_ops.reduce_prod(shape[-self._block_depth :])
        return raw.ConcatV2([shape[: -self._block_depth], raw.Pack([size, size])], 0)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Return an operation that fails if the convolution kernel is not real."""
        real = self.dtype.real_dtype
        with self._scope(name):
            size = math_ops.cast(self.domain_dimension_tensor(), real)
            imaginary = complex_ops.imag(self.convolution_kernel())
            return check_ops.assert_less(
                operators.absolute(imaginary, None),
                size * np.finfo(real.as_numpy_dtype).eps,
                message="Spectrum was not Hermitian",
            )

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Spectrum contained zero values."
        return arguments.assert_no_zeros(self._spectrum, message)

    def _assert_positive_definite(self) -> Any:
        message = "Not positive definite:  Real part of spectrum was not all positive."
        return check_ops.assert_positive(complex_ops.real(self._spectrum), message=message)

    def _assert_self_adjoint(self) -> Any:
        message = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return arguments.assert_real(self._spectrum, message)

    def _filtered(self, x: Any, adjoint: bool, adjoint_arg: bool, is_solution: bool) -> Any:
        """Multiply or divide the Fourier transform of the columns of `x` by the spectrum."""
        spectrum = to_complex(self._spectrum)
        spectrum = complex_ops.conj(spectrum) if adjoint else spectrum
        rows = arguments.adjoint_if(adjoint_arg, x)
        rows = matrix_ops.matrix_transpose(math_ops.cast(rows, spectrum.dtype))
        blocks = raw.Reshape(rows, raw.ConcatV2([raw.Shape(rows)[:-1], self._block_sizes()], 0))
        spectrum = raw.ExpandDims(spectrum, -1 - self._block_depth)
        forward, inverse = _TRANSFORMS[self._block_depth]
        blocks = forward(blocks)
        blocks = inverse(blocks / spectrum if is_solution else spectrum * blocks)
        shape = raw.Shape(blocks)[: -self._block_depth]
        rows = raw.Reshape(blocks, raw.ConcatV2([shape, [-1]], 0))
        result = math_ops.cast(matrix_ops.matrix_transpose(rows), self.dtype)
        known = result.shape.internal
        if known is not None:
            size = self.domain_dimension.value
            result.set_shape((*known[:-2], size, known[-1]))
        return result

    def _block_sizes(self) -> Any:
        known = self.block_shape.internal
        if shapes.is_fully_defined(known):
            return np.array(known, np.int32)
        return self.block_shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._filtered(x, adjoint, adjoint_arg, is_solution=False)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._filtered(rhs, adjoint, adjoint_arg, is_solution=True)

    def _axes(self) -> list[int]:
        return [-1 - place for place in range(self._block_depth)]

    def _determinant(self) -> Any:
        return math_ops.cast(reduce_ops.reduce_prod(self._spectrum, self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Any:
        logarithms = arguments.log_absolute(self._spectrum)
        return math_ops.cast(reduce_ops.reduce_sum(logarithms, self._axes()), self.dtype)

    def _diag_part(self) -> Any:
        ones = creation_ops.ones(self.shape_tensor()[:-1], self.dtype)
        size = math_ops.cast(self.domain_dimension_tensor(), self.dtype)
        return raw.ExpandDims(self.trace() / size, -1) * ones

    def _trace(self) -> Any:
        spectrum = self._spectrum
        if self.is_self_adjoint or not self.dtype.is_complex:
            spectrum = complex_ops.real(spectrum)
        return math_ops.cast(reduce_ops.reduce_sum(spectrum, self._axes()), self.dtype)


class LinearOperatorCirculant(BlockCirculant):
    """Circulant matrices. `spectrum` has the shape [B1, ..., Bb, N]."""


class LinearOperatorCirculant2D(BlockCirculant):
    """Block circulant matrices. `spectrum` has the shape [B1, ..., Bb, N1, N2]."""

    _block_depth = 2


class LinearOperatorCirculant3D(BlockCirculant):
    """Nested block circulant matrices. `spectrum` has the shape [B1, ..., Bb, N1, N2, N3]."""

    _block_depth = 3
