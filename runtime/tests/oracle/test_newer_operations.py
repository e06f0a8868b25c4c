"""Ops that only newer clients create: Capstan's servers run them as TensorFlow does."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from comparison import close

import capstan

pytestmark = genuine.MARKS

VALUES = np.int32([[3, 1, 3], [0, 2, 7]])
SIGNAL = np.random.default_rng(5).standard_normal((2, 3, 4))
WEIGHTS = np.float32([[0.5, 1, 2], [4, 8, 16]])


def outcome(v1: Any, target: str, program: Callable[[Any], Any]) -> Any:
    """Return the values that a program fetches from a server, or the class of its error."""
    with v1.Graph().as_default(), v1.Session(target) as session:
        try:
            fetches = program(v1)
            session.run(v1.global_variables_initializer())
            return session.run(v1.nest.flatten(fetches, expand_composites=True))
        except (v1.errors.OpError, ValueError) as error:
            return type(error).__name__


def assert_alike(v1: Any, tasks: genuine.Tasks, program: Callable[[Any], Any]) -> None:
    ours, theirs = (outcome(v1, target, program) for target in (tasks.target(), ""))
    assert isinstance(ours, str) == isinstance(theirs, str), (ours, theirs)
    if isinstance(ours, str):
        assert ours == theirs
        return
    for mine, expected in zip(ours, theirs, strict=True):
        close(mine, expected, 1e-5, 1e-6)


def _slopes_of_the_largest(v1: Any) -> Any:
    signal = v1.constant(np.float32(SIGNAL))
    values, _ = v1.raw_ops.ApproxTopK(input=signal, k=2)
    return v1.gradients(v1.sin(values), signal)


def sparse(v1: Any) -> Any:
    return v1.SparseTensor([[0, 0], [0, 2], [2, 1]], np.int64([4, 1, 4]), [3, 5])


@pytest.mark.parametrize(
    "program",
    [
        lambda v1: v1.math.bincount(VALUES),
        lambda v1: v1.bincount(VALUES, WEIGHTS, minlength=9),
        lambda v1: v1.math.bincount(VALUES, maxlength=3, dtype=v1.float64),
        lambda v1: v1.raw_ops.DenseBincount(
            input=VALUES, size=5, weights=WEIGHTS, binary_output=False
        ),
        lambda v1: v1.raw_ops.DenseBincount(
            input=VALUES, size=5, weights=np.int64([]), binary_output=True
        ),
        lambda v1: v1.raw_ops.DenseBincount(input=-VALUES, size=5, weights=np.int64([])),
        lambda v1: v1.raw_ops.DenseBincount(
            input=VALUES, size=v1.placeholder_with_default(-1, []), weights=np.int64([])
        ),
        lambda v1: v1.raw_ops.SparseBincount(
            indices=sparse(v1).indices, values=sparse(v1).values,
            dense_shape=sparse(v1).dense_shape, size=np.int64(6), weights=np.float32([1, 2, 4]),
        ),
        lambda v1: v1.raw_ops.RaggedBincount(
            splits=[0, 2, 2, 4], values=[1, 1, 0, 3], size=4, weights=np.float64([])
        ),
        lambda v1: v1.sparse.bincount(VALUES),
        lambda v1: v1.sparse.bincount(VALUES, weights=WEIGHTS, axis=-1, minlength=11),
        lambda v1: v1.sparse.bincount(VALUES, axis=-1, maxlength=3, binary_output=True),
        lambda v1: v1.sparse.bincount(sparse(v1), axis=-1),
        lambda v1: v1.sparse.bincount(np.int64([]), axis=-1),
        lambda v1: v1.sparse.bincount(v1.ragged.constant([[1, 1], [], [4]]), axis=-1),
    ],
)  # fmt: skip
def test_integers_are_counted(v1: Any, tasks: genuine.Tasks, program: Any) -> None:
    assert_alike(v1, tasks, program)


@pytest.mark.parametrize(
    "equation", ["ij,jk,kl->il", "...ij,...jk->...ik", "bqnh,bknh->bnqk", "ii", "i...j->...ji"]
)
def test_einsum_and_its_gradients(v1: Any, tasks: genuine.Tasks, equation: str) -> None:
    sizes = dict(zip("ijklbqnh", (2, 3, 4, 2, 2, 3, 2, 3), strict=True))
    if equation == "ii":
        sizes["i"] = 3

    def program(v1: Any) -> Any:
        random = np.random.default_rng(0)
        operands = [
            v1.constant(
                random.standard_normal(
                    [sizes.get(label, 2 - number) for label in part.replace("...", ".")]
                )
            )
            for number, part in enumerate(equation.split("->")[0].split(","))
        ]
        y = v1.einsum(equation, *operands)
        return [y, *v1.gradients(y * y, operands)]

    assert_alike(v1, tasks, program)


@pytest.mark.parametrize(
    "program",
    [
        lambda v1: v1.linalg.matmul(
            np.int8([[1, 2], [3, 4]]), np.int8([[100, 2], [3, 100]]), output_type=v1.int32
        ),
        lambda v1: v1.raw_ops.UniqueV2(x=[[1, 2], [3, 4], [1, 2]], axis=[0]),
        lambda v1: v1.raw_ops.UniqueV2(x=[[2, 1, 2], [3, 1, 3]], axis=[1]),
        lambda v1: v1.raw_ops.UniqueV2(x=[b"b", b"a", b"b"], axis=np.int64([])),
        lambda v1: v1.raw_ops.UniqueWithCountsV2(x=[[1, 2], [3, 4], [1, 2]], axis=[0]),
        lambda v1: v1.raw_ops.UniqueV2(x=[[1, 2]], axis=v1.placeholder_with_default([3], [1])),
        lambda v1: v1.raw_ops.TensorStridedSliceUpdate(
            input=VALUES, begin=[0, 0], end=[2, 3], strides=[1, 2], value=[[5, 6]]
        ),
        lambda v1: v1.raw_ops.CheckNumericsV2(tensor=[1.0, -2.0], message="m"),
        lambda v1: v1.raw_ops.CheckNumericsV2(tensor=[1.0, -np.inf, np.nan], message="m"),
        lambda v1: [
            v1.math.erfinv([-1.0, 1.0, 0.0, 1e-9, 2.0]), v1.math.ndtri([0.0, 1.0, 0.5, -1.0]),
        ],
        lambda v1: [
            getattr(v1.math.special, name)(np.float64([-np.inf, -3, -0.5, 0, 700, 1e5, np.nan]))
            for name in (
                *("bessel_i0", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k1e", "bessel_y0"),
                *("bessel_y1", "dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence"),
            )
        ],
        lambda v1: [
            v1.random.experimental.stateless_shuffle(np.arange(9), [3, seed]) for seed in range(3)
        ],
        lambda v1: v1.math.approx_max_k(np.float32(SIGNAL[0, 0]), 2),
        _slopes_of_the_largest,
        lambda v1: v1.raw_ops.ApproximateEqual(x=[1.0, 2.0], y=[1.1, 2.5], tolerance=0.2),
    ],
)  # fmt: skip
def test_newer_array_ops(v1: Any, tasks: genuine.Tasks, program: Any) -> None:
    assert_alike(v1, tasks, program)


def test_the_smallest_elements_along_any_axis(v1: Any, tasks: genuine.Tasks) -> None:
    """TensorFlow finds on a CPU only the largest elements of the last axis."""
    signal = np.float32(SIGNAL)
    with v1.Graph().as_default(), v1.Session(tasks.target()) as session:
        values, places = session.run(v1.math.approx_min_k(signal, 2, reduction_dimension=1))
    np.testing.assert_array_equal(values, np.sort(signal, 1)[:, :2])
    np.testing.assert_array_equal(places, np.argsort(signal, 1)[:, :2])


@pytest.mark.parametrize("axis", [0, 1, -2, -1])
def test_the_gradient_of_the_largest_elements_is_in_their_places(axis: int) -> None:
    signal = np.float32(SIGNAL)
    with capstan.Graph().as_default(), capstan.Session() as session:
        x = capstan.constant(signal)
        values, _ = capstan.raw_ops.ApproxTopK(input=x, k=2, reduction_dimension=axis)
        found = session.run(capstan.gradients(values * values, x)[0])
        unknown = capstan.placeholder(capstan.float32)
        largest = capstan.raw_ops.ApproxTopK(input=unknown, k=2, reduction_dimension=axis)
        if axis != -1:
            with pytest.raises(NotImplementedError, match="needs an input of known rank"):
                capstan.gradients(largest.values, unknown)
    order = np.argsort(np.argsort(-signal, axis), axis)
    np.testing.assert_allclose(found, np.where(order < 2, 2 * signal, 0))


def test_transforms_along_any_axes(v1: Any, tasks: genuine.Tasks) -> None:
    """TensorFlow has no kernels of them for a CPU."""
    signal = np.float32(SIGNAL)
    with v1.Graph().as_default(), v1.Session(tasks.target()) as session:
        for found, expected in (
            (
                v1.signal.fftnd(signal + 1j, [2, 4], axes=[0, 2]),
                np.fft.fftn(signal + 1j, axes=[0, 2]),
            ),
            (
                v1.signal.ifftnd(signal + 1j, [3, 6], axes=[0, 2]),
                np.fft.ifftn(signal + 1j, [3, 6], [0, 2]),
            ),
            (
                v1.signal.rfftnd(signal, [3, 2], axes=[0, 1]),
                np.fft.rfftn(signal, [3, 2], [0, 1]),
            ),
            (
                v1.signal.irfftnd(signal + 1j, [4, 5], axes=[0, 1]),
                np.fft.irfftn(signal + 1j, [4, 5], [0, 1]),
            ),
        ):
            value = expected.astype(found.dtype.as_numpy_dtype)
            np.testing.assert_allclose(session.run(found), value, 1e-5, 1e-5)


@pytest.mark.parametrize("is_complex", [False, True])
def test_eigenvalues(v1: Any, tasks: genuine.Tasks, is_complex: bool) -> None:
    matrices = SIGNAL[:, :3, :3] * (1 + 1j if is_complex else 1)

    def program(v1: Any) -> Any:
        values, vectors = v1.raw_ops.Eig(input=matrices, Tout=v1.complex128)
        alone, _ = v1.raw_ops.Eig(input=matrices, Tout=v1.complex128, compute_v=False)
        return [_sorted(v1, values), _sorted(v1, alone), _restored(v1, values, vectors)]

    assert_alike(v1, tasks, program)


def _sorted(v1: Any, values: Any) -> Any:
    return v1.sort(v1.math.real(values) + 10 * v1.math.imag(values))


def _restored(v1: Any, values: Any, vectors: Any) -> Any:
    """Return the matrices of these eigenvalues, which may have any order."""
    found = v1.matmul(vectors * values[..., None, :], v1.linalg.inv(vectors))
    return [v1.math.real(found), v1.math.imag(found)]


@pytest.mark.parametrize("kind", ["Max", "Min"])
def test_extremes_are_scattered_into_variables(v1: Any, tasks: genuine.Tasks, kind: str) -> None:
    def program(v1: Any) -> Any:
        found = []
        for is_resource in (False, True):
            cell = v1.get_variable(
                f"cell{is_resource}", initializer=np.float32([1, 5, 3]), use_resource=is_resource
            )
            update = v1.group(getattr(cell, f"scatter_nd_{kind.lower()}")([[0], [2]], [4.0, 2.0]))
            with v1.control_dependencies([update]):
                found.append(cell.read_value())
        return found

    assert_alike(v1, tasks, program)
