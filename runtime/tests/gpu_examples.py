"""A call of each operation with a kernel for GPUs that `op_cases` does not have."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.core import dtypes, tensor_shape

Call = tuple[list[Any], dict[str, Any]]
Numbers = Callable[..., Any]
"""`numbers(2, 3)` returns an array of this shape."""

_VOLUMES = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": b"SAME"}
_CONV = {"strides": [1, 1, 1, 1, 1], "padding": b"SAME"}
_BLOCK = np.array([2, 2], np.int32)
_NO_MARGINS = np.zeros((2, 2), np.int32)
_MARGINS = np.array([[1, 2], [0, 1]], np.int32)
_SIZES = np.array([3, 4], np.int32)
_LIMITS = np.float32(-1), np.float32(0.5)
_CHANNELS = np.float32([-1, 0]), np.float32([0.5, 0])
_NOTHING = np.zeros(0, np.float32)


def _volume(numbers: Numbers) -> Any:
    return numbers(1, 4, 4, 4, 2)


def _volume_sizes() -> Any:
    return np.array([1, 4, 4, 4, 2], np.int32)


def _image(numbers: Numbers) -> Any:
    return np.abs(numbers(2, 4, 4, 3)) % np.float32(1)


def _definite(numbers: Numbers) -> Any:
    """Return symmetric matrices with positive eigenvalues."""
    factors = numbers(2, 3, 3)
    return factors @ factors.swapaxes(1, 2) + np.eye(3, dtype=np.float32)


def _normalized(numbers: Numbers) -> list[Any]:
    """Return images, scale, offset, mean and variance."""
    return [_image(numbers), *(numbers(3) for _ in range(3)), np.abs(numbers(3))]


def _lstm(numbers: Numbers) -> list[Any]:
    """Return the states, weights, peepholes and biases of an LSTM for inputs of size 3."""
    states = [numbers(2, 2) for _ in range(2)]
    return [*states, numbers(5, 8), *(numbers(2) for _ in range(3)), numbers(8)]


def _gru(numbers: Numbers) -> list[Any]:
    """Return the state, weights and biases of a GRU for inputs of size 3."""
    return [numbers(2, 2), numbers(5, 4), numbers(5, 2), numbers(4), numbers(2)]


_SEED = np.array([3, -(2**40)])
_LOGITS = np.float32([[0, 1, 2, -3], [np.inf, 0, -np.inf, 1], [np.nan] * 4])

CALLS: Mapping[str, Callable[[Numbers], Call]] = {
    "AdjustContrast": lambda n: ([_image(n), np.float32(2), *_LIMITS], {}),
    "AdjustContrastv2": lambda n: ([_image(n), np.float32(2)], {}),
    "AdjustHue": lambda n: ([_image(n), np.float32(0.2)], {}),
    "AdjustSaturation": lambda n: ([_image(n), np.float32(0.5)], {}),
    "RGBToHSV": lambda n: ([_image(n)], {}),
    "HSVToRGB": lambda n: ([_image(n)], {}),
    "ResizeBilinear": lambda n: ([_image(n), _SIZES], {}),
    "ResizeNearestNeighbor": lambda n: ([_image(n), _SIZES], {}),
    "AvgPool3D": lambda n: ([_volume(n)], _VOLUMES),
    "AvgPool3DGrad": lambda n: ([_volume_sizes(), n(1, 2, 2, 2, 2)], _VOLUMES),
    "MaxPool3D": lambda n: ([_volume(n)], _VOLUMES),
    "MaxPool3DGrad": lambda n: ([_volume(n), *(n(1, 2, 2, 2, 2) for _ in range(2))], _VOLUMES),
    "MaxPool3DGradGrad": lambda n: ([_volume(n), n(1, 2, 2, 2, 2), _volume(n)], _VOLUMES),
    "Conv3D": lambda n: ([_volume(n), n(2, 2, 2, 2, 3)], _CONV),
    "Conv3DBackpropFilterV2": lambda n: (
        [_volume(n), np.array([2, 2, 2, 2, 3], np.int32), n(1, 4, 4, 4, 3)],
        _CONV,
    ),
    "Conv3DBackpropFilter": lambda n: ([_volume(n), n(2, 2, 2, 2, 3), n(1, 4, 4, 4, 3)], _CONV),
    "Conv3DBackpropInput": lambda n: ([_volume(n), n(2, 2, 2, 2, 3), n(1, 4, 4, 4, 3)], _CONV),
    "MaxPoolGradGradWithArgmax": lambda n: (
        [n(2, 2, 2, 1), n(2, 2, 2, 1), np.array([3, 1]).reshape(2, 1, 1, 1)],
        {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": b"SAME"},
    ),
    "Conv3DBackpropInputV2": lambda n: (
        [_volume_sizes(), n(2, 2, 2, 2, 3), n(1, 4, 4, 4, 3)],
        _CONV,
    ),
    "SpaceToBatchND": lambda n: ([n(2, 4, 4, 3), _BLOCK, _NO_MARGINS], {}),
    "BatchToSpaceND": lambda n: ([n(8, 2, 2, 3), _BLOCK, _NO_MARGINS], {}),
    "SpaceToDepth": lambda n: ([n(2, 4, 4, 3)], {"block_size": 2}),
    "DepthToSpace": lambda n: ([n(2, 2, 2, 12)], {"block_size": 2}),
    "MirrorPad": lambda n: ([n(3, 4), _MARGINS], {"mode": b"REFLECT"}),
    "MirrorPadGrad": lambda n: ([n(6, 5), _MARGINS], {"mode": b"SYMMETRIC"}),
    "PadV2": lambda n: ([n(3, 4), _MARGINS, np.float32(7)], {}),
    "LRN": lambda n: ([n(2, 2, 2, 5)], {}),
    "LRNGrad": lambda n: ([n(2, 2, 2, 5) for _ in range(3)], {}),
    "FusedBatchNorm": lambda n: ([*_normalized(n)[:3], _NOTHING, _NOTHING], {}),
    "FusedBatchNormV2": lambda n: (_normalized(n), {"is_training": False}),
    "FusedBatchNormV3": lambda n: ([*_normalized(n)[:3], _NOTHING, _NOTHING], {}),
    "FusedBatchNormGrad": lambda n: (_slopes(n), {}),
    "FusedBatchNormGradV2": lambda n: (_slopes(n), {}),
    "FusedBatchNormGradV3": lambda n: ([*_slopes(n), n(3)], {"is_training": False}),
    "ParallelConcat": lambda n: (
        [[n(1, 3), n(1, 3)]],
        {"shape": tensor_shape.TensorShape([2, 3])},
    ),
    "DeepCopy": lambda n: ([n(2, 3)], {}),
    "Empty": lambda n: ([np.array([2, 3], np.int32)], {"dtype": dtypes.float32, "init": True}),
    **dict.fromkeys(
        ("InplaceAdd", "InplaceSub"),
        lambda n: ([n(4, 3), np.array([2, -1, 2], np.int32), n(3, 3)], {}),
    ),
    "InplaceUpdate": lambda n: ([n(4, 3), np.array([2, -1], np.int32), n(2, 3)], {}),
    "PreventGradient": lambda n: ([n(3)], {}),
    "Cholesky": lambda n: ([_definite(n)], {}),
    "SelfAdjointEigV2": lambda n: ([_definite(n)], {}),
    "Qr": lambda n: ([n(2, 4, 3)], {"full_matrices": True}),
    "Svd": lambda n: ([n(2, 3, 4)], {"full_matrices": True}),
    "Bucketize": lambda n: ([n(3, 4)], {"boundaries": [-0.5, 0.0, 0.0, 0.75]}),
    "FakeQuantWithMinMaxArgs": lambda n: ([n(3, 4)], {"min": -1.0, "max": 0.5}),
    "FakeQuantWithMinMaxArgsGradient": lambda n: ([n(3, 4), n(3, 4)], {"min": -1.0, "max": 0.5}),
    "FakeQuantWithMinMaxVars": lambda n: ([n(3, 4), *_LIMITS], {"num_bits": 4}),
    "FakeQuantWithMinMaxVarsGradient": lambda n: ([n(3, 4), n(3, 4), *_LIMITS], {}),
    "FakeQuantWithMinMaxVarsPerChannel": lambda n: ([n(3, 2), *_CHANNELS], {}),
    "FakeQuantWithMinMaxVarsPerChannelGradient": lambda n: ([n(3, 2), n(3, 2), *_CHANNELS], {}),
    "QuantizeAndDequantizeV2": lambda n: ([n(3, 4), *_LIMITS], {"round_mode": b"HALF_UP"}),
    "QuantizeAndDequantizeV3": lambda n: ([n(3, 4), *_LIMITS, np.int32(4)], {}),
    "Lu": lambda n: ([n(2, 4, 4)], {}),
    "TridiagonalMatMul": lambda n: ([*(n(2, 1, 4) for _ in range(3)), n(2, 4, 3)], {}),
    "TridiagonalSolve": lambda n: ([n(2, 3, 4), n(2, 4, 2)], {}),
    "Unique": lambda n: ([np.array([3, 1, 3, -2, 1])], {}),
    "StatelessRandomUniform": lambda _: ([_SIZES, _SEED], {}),
    "StatelessRandomNormal": lambda _: ([_SIZES, _SEED], {}),
    "StatelessTruncatedNormal": lambda _: ([_SIZES, _SEED], {}),
    "StatelessRandomUniformInt": lambda _: (
        [_SIZES, _SEED, np.int64(-(2**40)), np.int64(7)],
        {},
    ),
    "StatelessMultinomial": lambda _: ([_LOGITS, np.int32(5), _SEED], {}),
    "GRUBlockCell": lambda n: ([n(2, 3), *_gru(n)], {}),
    "GRUBlockCellGrad": lambda n: ([n(2, 3), *_gru(n), *(n(2, 2) for _ in range(4))], {}),
    "LSTMBlockCell": lambda n: ([n(2, 3), *_lstm(n)], {"use_peephole": True}),
    "LSTMBlockCellGrad": lambda n: (
        [n(2, 3), *_lstm(n), *(n(2, 2) for _ in range(8))],
        {"use_peephole": True},
    ),
    **{
        f"BlockLSTM{version}": lambda n: ([np.int64(3), n(4, 2, 3), *_lstm(n)], {"cell_clip": 0.5})
        for version in ("", "V2")
    },
    **{
        f"BlockLSTMGrad{version}": lambda n: (
            [np.int64(3), n(4, 2, 3), *_lstm(n), *(n(4, 2, 2) for _ in range(9))],
            {"use_peephole": False},
        )
        for version in ("", "V2")
    },
    "Xdivy": lambda n: ([n(3, 4), n(4)], {}),
    "Xlogy": lambda n: ([n(3, 4), np.abs(n(4))], {}),
}


def _slopes(numbers: Numbers) -> list[Any]:
    """Return the slope, the images, the scale, the mean and the variance of a normalization."""
    image, scale, _, mean, variance = _normalized(numbers)
    return [numbers(2, 4, 4, 3), image, scale, mean, variance]
