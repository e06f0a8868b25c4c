"""The first values of the variables of a network.

TensorFlow draws a matrix for each gate, for its inputs and for its state, and then puts the
matrices together. The limits of an initializer such as Glorot's depend on the shape that it gets.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops

Initializer = Callable[..., Any]


def getter(kernel: Initializer, bias: Initializer, units: int) -> Callable[..., Any]:
    """Return a custom getter that gives the variables of cells their first values.

    `kernel` gets the shapes of cuDNN's matrices, and `bias` those of its biases. In a product of
    both the inputs and the state, cuDNN adds two biases.
    """

    def started(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        is_joint = "/candidate/" not in name

        def start(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            sizes = [int(size) for size in shape]
            if name.endswith("bias"):
                return _biases(bias, sizes, units, dtype, 1 + is_joint)
            return _matrices(kernel, sizes, units, dtype, is_joint=is_joint)

        return getter(name, *args, **{**kwargs, "initializer": start})

    return started


def _biases(bias: Initializer, sizes: list[int], units: int, dtype: Any, count: int) -> Any:
    gates = [
        sum(bias([units], dtype=dtype) for _ in range(count)) for _ in range(sizes[0] // units)
    ]
    return array_ops.concat(gates, 0)


def _matrices(
    kernel: Initializer, sizes: list[int], units: int, dtype: Any, *, is_joint: bool
) -> Any:
    rows, columns = sizes
    depths = [rows - units, units] if is_joint else [rows]
    gates = [
        array_ops.concat([kernel([units, depth], dtype=dtype) for depth in depths], 1)
        for _ in range(columns // units)
    ]
    return array_ops.transpose(array_ops.concat(gates, 0))
