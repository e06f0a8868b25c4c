"""The oldest fully connected layer (contrib/layers/python/layers/layers.py)."""

import functools
from collections.abc import Callable, Collection
from typing import Any

from capstan.api import array_ops, init_ops, math_ops, nn, scope_block, variable_scope
from capstan.contrib.layers.initializers import XAVIER
from capstan.framework import collections, convert

_KEYS = collections.GraphKeys


def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Callable[[Any], Any] | None = None,
    weight_init: Any = XAVIER,
    bias_init: Any = init_ops.Zeros,
    name: str | None = None,
    weight_collections: Collection[str] | None = (_KEYS.WEIGHTS,),
    bias_collections: Collection[str] | None = (_KEYS.BIASES,),
    output_collections: Collection[str] | None = (_KEYS.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> Any:
    """Return activation_fn(x * weights + bias), along the last axis.

    The variables are `weights` and `bias` in the scope `name` (default: "fully_connected"). They
    are no model variables. Without `bias_init` there is no bias. The result is always in the
    collection ACTIVATIONS.

    Raises:
        ValueError: `x` has fewer than two axes, or its rank or its last size is not known.
    """
    with scope_block.variable_scope(name, "fully_connected", [x]):
        x = convert.convert_to_tensor(x)
        rank = x.shape.ndims
        if rank is None or rank < 2 or (size := x.shape.as_list()[-1]) is None:
            raise ValueError(
                "The input of a fully connected layer needs at least two axes, and the size of the "
                f"last one must be known. It has the shape {x.shape}."
            )

        def variable(name: str, shape: list[int], init: Any, regularizer: Any, into: Any) -> Any:
            return variable_scope.get_variable(
                name, shape, x.dtype.base_dtype, init, regularizer, trainable,
                sorted({*(into or ()), _KEYS.GLOBAL_VARIABLES}),
            )  # fmt: skip

        weights = variable(
            "weights", [size, num_output_units], weight_init, weight_regularizer, weight_collections
        )
        y = math_ops.matmul(x if rank == 2 else array_ops.reshape(x, [-1, size]), weights)
        if bias_init is not None:
            y = nn.bias_add(
                y,
                variable("bias", [num_output_units], bias_init, bias_regularizer, bias_collections),
            )
        if rank > 2:
            outer = array_ops.shape(x)[:-1]
            y = array_ops.reshape(y, array_ops.concat([outer, [num_output_units]], 0))
            y.set_shape([*x.shape.as_list()[:-1], num_output_units])
        y = y if activation_fn is None else activation_fn(y)
        y.graph.add_to_collections({*(output_collections or ()), _KEYS.ACTIVATIONS}, y)
        return y


legacy_relu = functools.partial(legacy_fully_connected, activation_fn=nn.relu)
legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
