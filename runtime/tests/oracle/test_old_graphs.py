"""Ops of old graphs compute what TensorFlow, or their successors, compute."""

from typing import Any

import genuine
import numpy as np
import pytest
from comparison import close

import capstan as tf
from capstan.framework.raw import raw

pytestmark = genuine.MARKS

X = np.arange(2 * 4 * 6 * 3, dtype=np.float32).reshape(2, 4, 6, 3)
SQUARE = np.float32([[[4, 1], [1, 3]], [[2, 0], [1, 5]]])


def both(name: str, **arguments: Any) -> Any:
    return lambda module: getattr(module.raw_ops, name)(**arguments)


def test_ops_that_tensorflow_still_has(v1: Any) -> None:
    cases = [
        both("Concat", concat_dim=1, values=[X, X * 2]),
        both("Concat", concat_dim=4, values=[X, X]),
        both("Reverse", tensor=X, dims=[True, False, True, False]),
        both("BiasAddV1", value=X, bias=np.float32([1, 2, 3])),
        both("BiasAddV1", value=X, bias=np.float32([1, 2])),
        both("SpaceToBatch", input=X, paddings=[[0, 0], [1, 1]], block_size=2),
        both("SpaceToBatch", input=X, paddings=[[0, 1], [1, 1]], block_size=2),
        both("BatchToSpace", input=np.tile(X, [2, 1, 1, 1]), crops=[[1, 0], [0, 2]],
             block_size=2),
        both("Mod", x=np.int32([-7, 7]), y=np.int32([3, -3])),
        both("Mod", x=[-7.5, 7.5], y=[3.0, -3.0]),
        both("DataFormatDimMap", x=np.int32([0, 3, -1, 2])),
        both("DataFormatDimMap", x=np.int32([1]), src_format="NCHW", dst_format="NHWC"),
        both("DataFormatVecPermute", x=np.int32([1, 2, 3, 4])),
        both("DataFormatVecPermute", x=np.int64([[1, 2], [3, 4], [5, 6], [7, 8]]),
             src_format="NCHW", dst_format="NHWC"),
        both("DataFormatVecPermute", x=np.int32([[[1]]])),
    ]  # fmt: skip
    for number, case in enumerate(cases):
        ours, theirs = (_outcome(module, case) for module in (tf, v1))
        assert ours == theirs, f"case {number}"


def _outcome(module: Any, case: Any) -> Any:
    with module.Graph().as_default(), module.Session() as session:
        try:
            found = session.run(case(module))
        except (module.errors.OpError, ValueError) as error:
            return type(error).__name__
    return found.dtype.name, found.shape, found.tolist()


@pytest.mark.parametrize(
    ("old", "present", "arguments"),
    [
        ("BatchCholesky", "Cholesky", [SQUARE @ SQUARE.swapaxes(1, 2)]),
        ("BatchMatrixInverse", "MatrixInverse", [SQUARE]),
        ("BatchMatrixDeterminant", "MatrixDeterminant", [SQUARE]),
        ("BatchMatrixSolve", "MatrixSolve", [SQUARE, SQUARE]),
        ("BatchMatrixTriangularSolve", "MatrixTriangularSolve", [SQUARE, SQUARE]),
        ("BatchMatrixSolveLs", "MatrixSolveLs", [SQUARE, SQUARE, np.float64(0.5)]),
        ("BatchMatrixBandPart", "MatrixBandPart", [SQUARE, np.int64(0), np.int64(-1)]),
        ("BatchMatrixDiag", "MatrixDiag", [SQUARE]),
        ("BatchMatrixDiagPart", "MatrixDiagPart", [SQUARE]),
        ("BatchMatrixSetDiag", "MatrixSetDiag", [SQUARE, SQUARE[:, 0]]),
        ("BatchSelfAdjointEigV2", "SelfAdjointEigV2", [SQUARE]),
        ("BatchSvd", "Svd", [SQUARE]),
        *(
            (f"Batch{name}", name, [SQUARE + 1j])
            for name in ("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D")
        ),
        (
            "BatchCholeskyGrad",
            "CholeskyGrad",
            [np.tril(SQUARE) + 2 * np.eye(SQUARE.shape[-1], dtype=SQUARE.dtype), SQUARE],
        ),
    ],
)
def test_an_old_name_does_what_the_present_name_does(
    old: str, present: str, arguments: list[Any]
) -> None:
    arguments = [np.complex64(each) if np.iscomplexobj(each) else each for each in arguments]
    with tf.Graph().as_default(), tf.Session() as session:
        ours, theirs = (
            session.run(getattr(raw, name)(*map(tf.constant, arguments))) for name in (old, present)
        )
    for mine, wanted in zip(_listed(ours), _listed(theirs), strict=True):
        close(mine, wanted, 1e-6, 1e-6)


def _listed(values: Any) -> Any:
    return values if isinstance(values, tuple) else [values]


def test_images_are_cut_at_random_places() -> None:
    image = np.arange(5 * 4 * 2, dtype=np.float32).reshape(5, 4, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        cut = raw.RandomCrop(image, np.int64([2, 3]), seed=3, seed2=4)
        assert cut.shape == (2, 3, 2)
        corners = {session.run(cut)[0, 0, 0] for _ in range(40)}
        places = {image[top, left, 0] for top in range(4) for left in range(2)}
        assert len(corners) > 4
        assert corners <= places
        with pytest.raises(tf.errors.InvalidArgumentError, match="size must be within the image"):
            session.run(raw.RandomCrop(image, tf.placeholder_with_default(np.int64([6, 3]), None)))


def test_old_rows_without_a_kernel_in_tensorflow_are_right() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, mean, wide, beta, gamma = map(tf.constant, (X, *np.float32(np.ones((4, 3)) * 2)))
        normalized = raw.BatchNormWithGlobalNormalization(
            x, mean, wide, beta, gamma, variance_epsilon=2.0, scale_after_normalization=True
        )
        weights = tf.constant(np.sin(X))
        formula = (x - mean) * tf.rsqrt(wide + 2.0) * gamma + beta
        inputs = [x, mean, wide, beta, gamma]
        top = raw.TopK(x, k=2)
        largest = tf.nn.top_k(x, 2)
        pairs = [
            (normalized, formula),
            *zip(
                tf.gradients(normalized * weights, inputs),
                tf.gradients(formula * weights, inputs),
                strict=True,
            ),
            (top.values, largest.values),
            (top.indices, largest.indices),
            (tf.gradients(top.values, x)[0], tf.gradients(largest.values, x)[0]),
            (raw.TileGrad(x, [2, 1, 3, 1]), X.reshape(2, 1, 4, 3, 2, 3).sum((0, 3))),
            (raw.SelfAdjointEig(SQUARE)[:, 0], raw.SelfAdjointEigV2(SQUARE)[0]),
            (raw.BatchSelfAdjointEig(SQUARE)[:, 1:], raw.SelfAdjointEigV2(SQUARE)[1]),
            (raw.MatrixExponential(SQUARE), tf.linalg.expm(SQUARE)),
        ]
        for ours, expected in pairs:
            close(*session.run([tf.identity(ours), tf.identity(expected)]), 1e-4, 1e-4)
