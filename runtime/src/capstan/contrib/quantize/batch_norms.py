"""Fold batch normalizations into weights (contrib/quantize/python/fold_batch_norms.py).

The weights of an integer model contain the factors of the normalization, so they must be rounded
with these factors. A training graph multiplies the weights by gamma / sqrt(moving variance), which
changes slowly, and corrects the result to the statistics of the batch afterwards.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from capstan.api import array_ops, context, math_ops, nn_moments
from capstan.contrib.graph_editor import reroute
from capstan.framework.raw import raw

LAYERS: Final = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
"""The ops whose weights are rounded."""
NORMS: Final = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
"""The normalizations that are folded."""


class _Match(NamedTuple):
    """A layer, the normalization behind it, and the tensor that the readers of both read."""

    layer: Any
    norm: Any
    output: Any


def fold(graph: Any, *, is_training: bool) -> dict[Any, Any]:
    """Replace each layer and the fused batch normalization behind it.

    Return the last operation of each new layer: the sum with the folded bias.

    Raises:
        ValueError: the moving averages of a normalization in a training graph are not found.
    """
    tails = {}
    for match in list(_matches(graph)):
        scope = match.layer.name.rpartition("/")[0]
        with context.name_scope(f"{scope}/" if scope else None):
            layer, tail = _folded(match, is_training=is_training)
        tails[layer] = tail
    return tails


def _matches(graph: Any) -> Iterator[_Match]:
    for norm in graph.get_operations():
        if norm.type not in NORMS or not norm.outputs[0].consumers():
            continue
        layer, output = norm.inputs[0].op, norm.outputs[0]
        is_reshaped = layer.type == "Reshape"
        while layer.type in ("Identity", "Reshape"):
            layer = layer.inputs[0].op
        if layer.type not in LAYERS:
            continue
        if is_reshaped:
            reader = output.consumers()[0]
            output = reader.outputs[0] if reader.type == "Reshape" else output
        yield _Match(layer, norm, output)


def _folded(match: _Match, *, is_training: bool) -> tuple[Any, Any]:
    layer, norm = match.layer, match.norm
    inputs, weights = layer.inputs
    gamma, beta = norm.inputs[1], norm.inputs[2]
    epsilon = norm.get_attr("epsilon")
    uses_batch = norm.get_attr("is_training")
    moving = _moving_averages(norm) if is_training and uses_batch else None
    with context.name_scope("BatchNorm_Fold"):
        mean, variance = norm.inputs[3], norm.inputs[4]
        if uses_batch:
            mean, variance = nn_moments.moments(norm.inputs[0], _axes(norm))
        sigma = math_ops.rsqrt(variance + epsilon)
        multiplier = gamma * sigma
        bias = math_ops.subtract(beta, mean * multiplier, name="bias")
        correction = None
        if moving is not None:
            # The weights get the factor gamma / sqrt(moving variance) in total.
            correction = array_ops.identity(
                math_ops.rsqrt(moving[1] + epsilon) / sigma, name="correction_scale"
            )
        shaped = [_as_weights(each, layer) for each in (multiplier, correction)]
    if shaped[1] is not None:
        weights = math_ops.multiply(shaped[1], weights, name="correction_mult")
    scaled = math_ops.multiply(weights, shaped[0], name="mul_fold")
    made = _clone(layer, inputs, scaled)
    result = made
    if norm.type in NORMS and norm.get_attr("data_format") == b"NCHW":
        bias, correction = (
            None if each is None else array_ops.reshape(each, (-1, 1, 1))
            for each in (bias, correction)
        )
    if correction is not None:
        result = math_ops.multiply(raw.Reciprocal(correction), result, name="post_conv_mul")
    total = math_ops.add(result, bias, name="add_fold")
    reroute.reroute_ts([total], [match.output])
    return made.op, total.op


def _axes(norm: Any) -> list[int]:
    return [0, 2, 3] if norm.get_attr("data_format") == b"NCHW" else [0, 1, 2]


def _moving_averages(norm: Any) -> tuple[Any, Any]:
    """Return the moving mean and variance that a normalization by the batch updates.

    Raises:
        ValueError: nothing subtracts the statistics of a batch from the moving averages.
    """
    found = []
    for output in norm.outputs[1:3]:
        waiting = [output]
        moving = None
        while waiting and moving is None:
            tensor = waiting.pop()
            for reader in tensor.consumers():
                if reader.type == "Sub" and reader.inputs[1] is tensor:
                    moving = reader.inputs[0]
                elif reader.type in ("Identity", "Mul", "Squeeze"):
                    waiting.append(reader.outputs[0])
        if moving is None:
            raise ValueError(
                f"The moving averages of {norm.name} are not found: the graph does not update them"
            )
        found.append(moving)
    return found[0], found[1]


def _as_weights(factors: Any, layer: Any) -> Any:
    """Return the factors of the channels in a shape that goes with the weights of the layer."""
    if factors is None or layer.type != "DepthwiseConv2dNative":
        return factors
    return array_ops.reshape(factors, layer.inputs[1].shape.as_list()[2:])


def _clone(layer: Any, inputs: Any, weights: Any) -> Any:
    """Return the output of an operation like `layer` with other inputs."""
    name = f"{layer.name.rpartition('/')[2]}_Fold"
    attributes = {
        key: layer.get_attr(key)
        for key in (
            ("transpose_a", "transpose_b")
            if layer.type == "MatMul"
            else ("strides", "padding", "data_format", "dilations")
        )
    }
    return getattr(raw, layer.type)(inputs, weights, **attributes, name=name)
