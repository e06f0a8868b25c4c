"""The floating-point operations of the ops for which TensorFlow counts them
(python/profiler/internal/flops_registry.py, and the modules of a few ops).

`framework.statistics` keeps the counts.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from capstan.framework import statistics


def _sizes(graph: Any, name: str) -> list[int]:
    """Return the sizes of a tensor, by its name in a NodeDef.

    Raises:
        ValueError: the shape is not fully known.
    """
    tensor = graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
    tensor.shape.assert_is_fully_defined()
    sizes: list[int] = tensor.shape.as_list()
    return sizes


_Count = Callable[[Any, Any], int]


def _flops(count: _Count) -> statistics.Statistic:
    return lambda graph, node: statistics.OpStats("flops", count(graph, node))


def _matmul(graph: Any, node: Any) -> int:
    rows, columns = _sizes(graph, node.input[0])
    inner = rows if node.attr["transpose_a"].b else columns
    return inner * math.prod(_sizes(graph, node.name)) * 2


def _conv(graph: Any, node: Any) -> int:
    height, width, channels, _ = _sizes(graph, node.input[1])
    return math.prod(_sizes(graph, node.name)) * channels * height * width * 2


def _for_each_place(graph: Any, node: Any) -> int:
    """Two operations for each place in a window that is over one channel."""
    height, width, *_ = _sizes(graph, node.input[1])
    return math.prod(_sizes(graph, node.name)) * height * width * 2


def _add_bias(graph: Any, node: Any) -> int:
    return math.prod(_sizes(graph, node.input[0]))


def _for_each_input(factor: int, more: int = 0) -> _Count:
    """Return the count of an op with `factor` operations for each element of its first input."""
    return lambda graph, node: math.prod(_sizes(graph, node.input[0])) * factor + more


def _for_each_output(factor: int) -> _Count:
    """Return the count of an op with `factor` operations for each element of its output."""
    return lambda graph, node: math.prod(_sizes(graph, node.name)) * factor


def _reduce(finish: int) -> _Count:
    """Return the count of a reduction with `finish` last operations for each output."""

    def count(graph: Any, node: Any) -> int:
        outputs = math.prod(_sizes(graph, node.name))
        return math.prod(_sizes(graph, node.input[0])) + outputs * (finish - 1)

    return count


def _check_format(node: Any) -> None:
    """Raise ValueError if the channels of images are not their last dimension."""
    if node.attr["data_format"].s != b"NHWC":
        raise ValueError("Only NHWC format is supported in flops computations")


def _window(node: Any) -> int:
    """Return the number of places in a window of a pool."""
    _check_format(node)
    return math.prod(map(int, node.attr["ksize"].list.i))


def _pool(graph: Any, node: Any) -> int:
    return _window(node) * math.prod(_sizes(graph, node.name))


def _pool_gradient(factor: int, more: int) -> _Count:
    """Return the count of the gradient of a pool: `factor` for each place in each window."""

    def count(graph: Any, node: Any) -> int:
        return math.prod(_sizes(graph, node.input[1])) * (_window(node) * factor + more)

    return count


def _conv_gradient(image: Callable[[Any], str], kernel: Callable[[Any], str]) -> _Count:
    """Return the count of a gradient of a convolution, of which it takes the names of tensors."""

    def count(graph: Any, node: Any) -> int:
        _check_format(node)
        sizes = _sizes(graph, image(node))
        weights = math.prod(_sizes(graph, kernel(node)))
        _, *strides, _ = node.attr["strides"].list.i
        return int(2 * math.prod(sizes) * weights / (sizes[-1] * math.prod(strides)))

    return count


def _add_all(graph: Any, node: Any) -> int:
    if not node.input:
        return 0
    return math.prod(_sizes(graph, node.input[0])) * (len(node.input) - 1)


_FLOPS: Final = {
    "MatMul": _matmul,
    "Conv2D": _conv,
    "DepthwiseConv2dNative": _for_each_place,
    "Dilation2D": _for_each_place,
    "BiasAdd": _add_bias,
    **dict.fromkeys(
        ("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd"), _for_each_input(1)
    ),
    "Rsqrt": _for_each_input(2),
    "L2Loss": _for_each_input(3, -1),
    "Softmax": _for_each_input(5),
    **dict.fromkeys(
        (
            *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow"),
            *("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual"),
        ),
        _for_each_output(1),
    ),
    "SquaredDifference": _for_each_output(2),
    "RsqrtGrad": _for_each_output(4),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduce(0)),
    "Mean": _reduce(1),
    "AvgPool": _pool,
    "MaxPool": _pool,
    "AvgPoolGrad": _pool_gradient(2, 0),
    "MaxPoolGrad": _pool_gradient(1, 1),
    "Conv2DBackpropInput": _conv_gradient(lambda node: node.name, lambda node: node.input[1]),
    "Conv2DBackpropFilter": _conv_gradient(lambda node: node.input[0], lambda node: node.name),
    "AddN": _add_all,
}
for _op, _count in _FLOPS.items():
    statistics.RegisterStatistics(_op, "flops")(_flops(_count))
