"""`fully_connected` and small layers (contrib/layers/python/layers/layers.py)."""

import functools
from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, creation_ops, init_ops, math_ops, nn, scope_block
from capstan.api.layers import core
from capstan.api.scoped import scoped
from capstan.contrib.framework import argument_scopes, variables
from capstan.contrib.layers import collecting, weighted
from capstan.contrib.layers.initializers import XAVIER
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


@argument_scopes.add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return activation_fn(inputs * weights + biases), along the last axis.

    With `normalizer_fn`, such as `batch_norm`, there are no biases.

    Raises:
        ValueError: `num_outputs` is not an integer.
    """
    try:
        units = num_outputs.__index__()
    except AttributeError:
        raise ValueError(
            f"num_outputs type should be int, got {type(num_outputs).__name__}."
        ) from None
    with scope_block.variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=weighted.NAMES
    ) as block:
        inputs = convert.convert_to_tensor(inputs)
        return weighted.applied(
            core.Dense, block, inputs, reuse, activation_fn, normalizer_fn,
            normalizer_params, weights_initializer, weights_regularizer, biases_initializer,
            biases_regularizer, variables_collections, outputs_collections, trainable,
            units=units,
        )  # fmt: skip


relu = functools.partial(fully_connected, activation_fn=nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=nn.relu6)
elu = functools.partial(fully_connected, activation_fn=nn.elu)
linear = functools.partial(fully_connected, activation_fn=None)


@argument_scopes.add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = init_ops.Zeros,
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Return the inputs plus the variable `biases`, one for each channel."""
    with scope_block.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as block:
        inputs = convert.convert_to_tensor(inputs)
        channels = inputs.shape.as_list()[1 if data_format == "NCHW" else -1]
        biases = variables.model_variable(
            "biases", [channels], inputs.dtype.base_dtype, initializer, regularizer, trainable,
            collecting.collections_for(variables_collections, "biases"),
        )  # fmt: skip
        outputs = nn.bias_add(inputs, biases, data_format=data_format)
        return collecting.finished(outputs, activation_fn, outputs_collections, block.name)


@argument_scopes.add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """Keep each element with the probability `keep_prob` during training."""
    with scope_block.variable_scope(scope, "Dropout", [inputs]) as block:
        inputs = convert.convert_to_tensor(inputs)
        layer = core.Dropout(1 - keep_prob, noise_shape, seed, block.name, _scope=block)
        outputs = layer.apply(inputs, training=is_training)
        return collecting.collected(outputs_collections, block.name, outputs)


@argument_scopes.add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """Return each example of a batch as a vector."""
    with scoped(scope, "Flatten", (inputs,)) as name:
        return collecting.collected(outputs_collections, name, core.flatten(inputs))


@argument_scopes.add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return a vector for each label: `on_value` at the class, and `off_value` elsewhere."""
    with scoped(scope, "OneHotEncoding", (labels,)) as name:
        labels = convert.convert_to_tensor(labels)
        if labels.dtype is dtypes.int32:
            labels = math_ops.cast(labels, dtypes.int64)
        outputs = creation_ops.one_hot(labels, num_classes, on_value, off_value)
        return collecting.collected(outputs_collections, name, outputs)


@argument_scopes.add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Any:
    """Return the softmax of logits of any rank, along the last axis."""
    with scope_block.variable_scope(scope, "softmax", [logits]):
        rows = raw.Reshape(logits, [-1, logits.shape.as_list()[-1]])
        predictions = raw.Reshape(nn.softmax(rows), array_ops.shape(logits))
        predictions.set_shape(logits.shape)
        return predictions


def repeat(inputs: Any, repetitions: int, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a layer several times in sequence. The scopes are `scope_1`, `scope_2` and so on."""
    given = kwargs.pop("scope", None)
    with scope_block.variable_scope(given, "Repeat", [inputs]):
        outputs = convert.convert_to_tensor(inputs)
        for number in range(repetitions):
            kwargs["scope"] = f"{given or _name_of(layer, 'repeat')}_{number + 1}"
            outputs = layer(outputs, *args, **kwargs)
        return outputs


def stack(inputs: Any, layer: Any, stack_args: Sequence[Any], **kwargs: Any) -> Any:
    """Apply a layer once for each element of `stack_args`, which are its further arguments.

    Raises:
        ValueError: `stack_args` is neither a list nor a tuple.
    """
    if not isinstance(stack_args, list | tuple):
        raise ValueError("stack_args need to be a list or tuple")  # noqa: TRY004 - as TensorFlow
    given = kwargs.pop("scope", None)
    with scope_block.variable_scope(given, "Stack", [inputs]):
        outputs = convert.convert_to_tensor(inputs)
        for number, arguments in enumerate(stack_args):
            kwargs["scope"] = f"{given or _name_of(layer, 'stack')}_{number + 1}"
            several = arguments if isinstance(arguments, list | tuple) else [arguments]
            outputs = layer(outputs, *several, **kwargs)
        return outputs


def _name_of(layer: Any, default: str) -> str:
    function = layer if hasattr(layer, "__name__") else getattr(layer, "func", None)
    return str(getattr(function, "__name__", default))
