"""What programs with their own cells and loops import from the module of the cells.

Such programs copy `dynamic_rnn` or `GRUCell` and change it. TensorFlow calls the names `_concat`,
`_like_rnncell` and `_Linear`: `python.ops.rnn_cell_impl` has them under these names.

Source: tensorflow/python/ops/rnn_cell_impl.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import array_ops, init_ops, nn, scope_block, variable_scope
from capstan.core import tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

WEIGHTS_VARIABLE_NAME = "kernel"
BIAS_VARIABLE_NAME = "bias"
"""The names of the variables of a cell. TensorFlow's names of these begin with an underscore."""


def like_rnncell(cell: Any) -> bool:
    """Return whether an object has the members of a cell and can be called."""
    members = ("output_size", "state_size", "zero_state")
    return callable(cell) and all(hasattr(cell, name) for name in members)


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Raise TypeError, which names the argument, if an object is not like a cell."""
    missing = [
        f"'{name}' property is missing"
        for name in ("output_size", "state_size")
        if not hasattr(cell, name)
    ]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        missing.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        missing.append("is not callable")
    if missing:
        raise TypeError(
            f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(missing)}."
        )


def concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Return the sizes of the prefix, such as the batch size, and then those of the suffix.

    Both are an int, a TensorShape or a tensor of rank 0 or 1. The result is a tensor, or with
    `static` a list in which unknown sizes are None. The list is None if a rank is unknown.

    Raises:
        ValueError: a tensor has another rank, or a size is unknown and `static` is false.
    """
    if static:
        known = [_known(each) for each in (prefix, suffix)]
        return None if None in known else [size for sizes in known for size in sizes or ()]
    parts = [_sizes(each) for each in (prefix, suffix)]
    if any(each is None for each in parts):
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return array_ops.concat(parts, 0)


def _known(sizes: Any) -> list[int | None] | None:
    if not isinstance(sizes, graphs.Tensor):
        shape = _as_shape(sizes)
        return None if shape.ndims is None else shape.as_list()
    _vector(sizes)  # Refuses other ranks.
    values = convert.constant_value(sizes)
    return None if values is None else [int(size) for size in values.reshape(-1)]


def _sizes(sizes: Any) -> Any:
    """Return sizes as a tensor of rank 1, or None if a size is unknown."""
    if isinstance(sizes, graphs.Tensor):
        return _vector(sizes)
    shape = _as_shape(sizes)
    return np.array(shape.as_list(), np.int32) if shape.is_fully_defined() else None


def _as_shape(sizes: Any) -> tensor_shape.TensorShape:
    return tensor_shape.as_shape([sizes] if isinstance(sizes, int) else sizes)


def _vector(sizes: Any) -> Any:
    if sizes.shape.ndims not in (0, 1):
        raise ValueError(
            f"prefix or suffix tensor must be either a scalar or vector, but saw tensor: {sizes}"
        )
    return array_ops.expand_dims(sizes, 0) if sizes.shape.ndims == 0 else sizes


class Linear:
    """The joined arguments times the variable `kernel`, plus `bias` if there is one.

    The constructor makes the variables in the current variable scope. `args` is a tensor or a list
    of tensors of rank 2, whose second sizes are known. Calls take arguments of the same sizes.

    Raises:
        ValueError: there are no arguments, or a shape is not as said above.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        parts = _listed(args)
        if not parts:
            raise ValueError("`args` must be specified")
        shapes = [each.shape for each in parts]
        if any(shape.ndims != 2 for shape in shapes):
            raise ValueError(f"linear is expecting 2D arguments: {shapes}")
        widths = [shape.as_list()[1] for shape in shapes]
        if None in widths:
            raise ValueError(f"linear expects shape[1] to be provided for shapes {shapes}")
        dtype = parts[0].dtype.base_dtype
        self._weights = variable_scope.get_variable(
            "kernel", [sum(widths), output_size], dtype, kernel_initializer
        )
        self._biases = None
        if build_bias:
            start = init_ops.Zeros(dtype) if bias_initializer is None else bias_initializer
            with scope_block.variable_scope(variable_scope.get_variable_scope()) as scope:
                scope.set_partitioner(None)
                self._biases = variable_scope.get_variable("bias", [output_size], dtype, start)

    def __call__(self, args: Any) -> Any:
        parts = _listed(args)
        joined = parts[0] if len(parts) == 1 else array_ops.concat(parts, 1)
        product = raw.MatMul(joined, self._weights)
        return product if self._biases is None else nn.bias_add(product, self._biases)


def _listed(args: Any) -> Sequence[Any]:
    if args is None:
        return []
    return list(args) if isinstance(args, list | tuple) else [args]
