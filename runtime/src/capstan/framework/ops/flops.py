"""The floating-point operations of the ops for which TensorFlow's own modules count them.

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


def _flops(count: Callable[[Any, Any], int]) -> statistics.Statistic:
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


_FLOPS: Final = (
    ("MatMul", _matmul),
    ("Conv2D", _conv),
    ("DepthwiseConv2dNative", _for_each_place),
    ("Dilation2D", _for_each_place),
    ("BiasAdd", _add_bias),
)
for _op, _count in _FLOPS:
    statistics.RegisterStatistics(_op, "flops")(_flops(_count))
