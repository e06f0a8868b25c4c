"""Normalizations of single examples (contrib/layers/python/layers/layers.py, normalization.py)."""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api import init_ops, nn, reduce_ops, scope_block
from capstan.contrib.framework import argument_scopes, variables
from capstan.contrib.layers import collecting
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


@argument_scopes.add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Normalize the axes from `begin_norm_axis` on to mean 0 and variance 1.

    The variables `beta` and `gamma` have the shape of the axes from `begin_params_axis` on.

    Raises:
        ValueError: an axis is beyond the rank, or the shape of the variables is unknown.
    """
    with scope_block.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as block:
        inputs = convert.convert_to_tensor(inputs)
        rank, kind = inputs.shape.ndims, inputs.dtype.base_dtype
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or first >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({first}) must be "
                f"< rank(inputs) ({rank})"
            )
        shape = inputs.shape.as_list()[begin_params_axis:]
        if None in shape:
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{inputs.shape}"
            )
        beta, gamma = parameters(shape, kind, center, scale, None, variables_collections, trainable)
        mean, variance = nn.moments(inputs, list(range(first, rank)), keepdims=True)
        epsilon = 1e-3 if kind in (dtypes.float16, dtypes.bfloat16) else 1e-12
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return collecting.finished(outputs, activation_fn, outputs_collections, block.name)


@argument_scopes.add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Normalize each channel of each image to mean 0 and variance 1.

    Raises:
        ValueError: the rank or the number of channels is unknown, or `data_format` is.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, not {data_format!r}")
    with scope_block.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as block:
        inputs = convert.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        at = 1 if data_format == "NCHW" else rank - 1
        channels = inputs.shape.as_list()[at]
        if channels is None:
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension.")
        along = [channels if axis == at else 1 for axis in range(rank)]
        beta, gamma = parameters(
            [channels], inputs.dtype.base_dtype, center, scale, param_initializers,
            variables_collections, trainable, along,
        )  # fmt: skip
        axes = [axis for axis in range(1, rank) if axis != at]
        mean, variance = nn.moments(inputs, axes, keepdims=True)
        outputs = nn.batch_normalization(
            inputs, mean, variance, beta, gamma, epsilon, name="instancenorm"
        )
        outputs.set_shape(inputs.shape)
        return collecting.finished(outputs, activation_fn, outputs_collections, block.name)


def parameters(
    shape: Any,
    kind: Any,
    center: bool,
    scale: bool,
    initializers: Mapping[str, Any] | None,
    variables_collections: Any,
    trainable: bool,
    along: Sequence[int] | None = None,
) -> tuple[Any, Any]:
    """Create the variables `beta` and `gamma`, and return them reshaped to `along` if it is given.

    `beta` is None without `center`, and `gamma` without `scale`. By default, `beta` begins with
    zeros and `gamma` with ones.
    """
    start = {"beta": init_ops.Zeros, "gamma": init_ops.Ones, **(initializers or {})}

    def parameter(name: str) -> Any:
        variable = variables.model_variable(
            name, shape, kind, start[name], trainable=trainable,
            collections=collecting.collections_for(variables_collections, name),
        )  # fmt: skip
        return variable if along is None else raw.Reshape(variable, along)

    return parameter("beta") if center else None, parameter("gamma") if scale else None


@argument_scopes.add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """Scale the inputs to the length 1 along the axis `dim`.

    Raises:
        ValueError: the rank is unknown, or there is no such axis.
    """
    with scope_block.variable_scope(scope, "UnitNorm", [inputs]):
        inputs = convert.convert_to_tensor(inputs)
        if inputs.shape.ndims is None:
            raise ValueError("The input rank must be known.")
        if not 0 <= dim < inputs.shape.ndims:
            raise ValueError("dim must be positive but smaller than the input rank.")
        squares = reduce_ops.reduce_sum(raw.Square(inputs), dim, keepdims=True)
        return raw.RealDiv(inputs, raw.Sqrt(raw.Add(squares, epsilon)))
