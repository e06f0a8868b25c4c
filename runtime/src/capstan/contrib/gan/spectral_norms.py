"""Spectral normalization (contrib/gan/python/features/python/spectral_normalization_impl.py).

The largest singular value of a weight follows by the method of powers from a vector that is a
variable, so that a few rounds in each step suffice (Miyato and others, 2018).
"""

import numbers
import re
from collections.abc import Callable
from typing import Any

from capstan.api import (
    array_ops,
    init_ops,
    logging,
    math_ops,
    nn,
    scope_block,
    variable_scope,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_VECTOR = "spectral_norm_u"
_DTYPES = (dtypes.float16, dtypes.float32, dtypes.float64)


def compute_spectral_norm(
    w_tensor: Any, power_iteration_rounds: int = 1, name: str | None = None
) -> Any:
    """Return the largest singular value of a weight as a matrix whose columns are its last axis.

    The variable `spectral_norm_u` gets the new vector whenever the value is computed.
    """
    with scope_block.variable_scope(name, "spectral_norm"):
        matrix = array_ops.reshape(w_tensor, [-1, w_tensor.shape.as_list()[-1]])
        start = variable_scope.get_variable(
            _VECTOR, [matrix.shape.as_list()[0], 1], matrix.dtype,
            init_ops.random_normal_initializer(), trainable=False,
        )  # fmt: skip
        left, right = start, None
        for _ in range(power_iteration_rounds):
            right = nn.l2_normalize(math_ops.matmul(array_ops.transpose(matrix), left))
            left = nn.l2_normalize(math_ops.matmul(matrix, right))
        with graphs.get_default_graph().control_dependencies([start.assign(left, name="update_u")]):
            left = array_ops.identity(left)
        left, right = raw.StopGradient(left), raw.StopGradient(right)
        norm = math_ops.matmul(math_ops.matmul(array_ops.transpose(left), matrix), right)
        norm.shape.assert_is_compatible_with([1, 1])
        return norm[0][0]


def spectral_normalize(w: Any, power_iteration_rounds: int = 1, name: str | None = None) -> Any:
    """Return a weight over its largest singular value."""
    with scope_block.variable_scope(name, "spectral_normalize"):
        return array_ops.reshape(w / compute_spectral_norm(w, power_iteration_rounds), w.shape)


def spectral_norm_regularizer(
    scale: Any, power_iteration_rounds: int = 1, scope: str | None = None
) -> Callable[..., Any]:
    """Return a regularizer: `scale` times the largest singular value of a weight.

    Raises:
        ValueError: `scale` is an integer or negative.
    """
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")  # noqa: TRY004 - TensorFlow's error
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {float(scale):g}")
        if scale == 0.0:
            logging.info("Scale of 0 disables regularizer.")
            return lambda _: None

    def regularizer(weights: Any, name: str | None = None) -> Any:
        with scoped(scope, "SpectralNormRegularizer", [weights]) as inner:
            factor = convert.convert_to_tensor(scale, weights.dtype.base_dtype, name="scale")
            norm = compute_spectral_norm(weights, power_iteration_rounds)
            return raw.Mul(factor, norm, name=inner)

    return regularizer


def _is_weight(name: str) -> bool:
    return re.match(r"(.*/)?(depthwise_|pointwise_)?(weights|kernel)$", name) is not None


def spectral_normalization_custom_getter(
    name_filter: Any = _is_weight, power_iteration_rounds: int = 1
) -> Callable[..., Any]:
    """Return a `custom_getter` of variable scopes that normalizes weights.

    `name_filter` is true for the names of weights. By default these are `weights` and `kernel`.

    Raises:
        ValueError: `name_filter` is no function. The getter raises it for a weight of less than two
            axes, or of integers.
    """
    if not callable(name_filter):
        raise ValueError("name_filter must be callable")  # noqa: TRY004 - TensorFlow's error

    def get(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if not name_filter(name):
            return getter(name, *args, **kwargs)
        if name.endswith(_VECTOR):
            raise ValueError(
                "Cannot apply Spectral Normalization to internal variables created for Spectral "
                f"Normalization. Tried to normalized variable [{name}]"
            )
        if kwargs["dtype"] not in _DTYPES:
            raise ValueError(f"Disallowed data type {kwargs['dtype']}")
        weight = getter(name, *args, **kwargs)
        if weight.shape.ndims < 2:
            raise ValueError("Spectral norm can only be applied to multi-dimensional tensors")
        return spectral_normalize(weight, power_iteration_rounds, f"{name}/spectral_normalize")

    return get
