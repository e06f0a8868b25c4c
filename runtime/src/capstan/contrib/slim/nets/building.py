"""What the networks without branches have in common."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from capstan.api import array_ops, init_ops, nn, scope_block
from capstan.contrib import layers
from capstan.contrib.framework import argument_scopes
from capstan.contrib.layers import collecting

_Network = TypeVar("_Network", bound=Callable[..., Any])
Layer = tuple[Callable[..., Any], dict[str, Any]]
"""A function of `tf.contrib.layers`, and its arguments."""


def for_images_of(size: int) -> Callable[[_Network], _Network]:
    """Return a decorator that notes the width and height of a network's images."""

    def noted(network: _Network) -> _Network:
        network.__dict__["default_image_size"] = size
        return network

    return noted


def convolution(scope: str, filters: int, size: int, **more: Any) -> Layer:
    return layers.conv2d, {"num_outputs": filters, "kernel_size": size, "scope": scope, **more}


def convolutions(scope: str, count: int, filters: int) -> Layer:
    """Return several convolutions with windows of 3 by 3."""
    return layers.repeat, {
        "repetitions": count, "layer": layers.conv2d, "num_outputs": filters, "kernel_size": 3,
        "scope": scope,
    }  # fmt: skip


def pool(scope: str, size: int) -> Layer:
    return layers.max_pool2d, {"kernel_size": size, "stride": 2, "scope": scope}


def scope_of_arguments(weight_decay: float, bias: float) -> Any:
    """Return the arguments of layers with ReLU and the padding "SAME"."""
    with (
        argument_scopes.arg_scope(
            [layers.conv2d, layers.fully_connected],
            activation_fn=nn.relu,
            weights_regularizer=layers.l2_regularizer(weight_decay),
            biases_initializer=init_ops.constant_initializer(bias),
        ),
        argument_scopes.arg_scope([layers.conv2d], padding="SAME") as found,
    ):
        return found


@contextmanager
def collecting_outputs(scope: Any, functions: list[Any]) -> Iterator[dict[str, Any]]:
    """Collect the outputs of layers in the block. After it, the dict has them by their names."""
    collection = f"{scope.original_name_scope}_end_points"
    found: dict[str, Any] = {}
    with argument_scopes.arg_scope(functions, outputs_collections=[collection]):
        yield found
    found.update(collecting.convert_collection_to_dict(collection))


def classifier(
    name: str,
    image_size: int,
    features: Sequence[Layer],
    first: tuple[int, int],
    **initializers: Any,
) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """Return the function that builds a network.

    After the features come three convolutions in place of dense layers. `first` has the size and
    the number of filters of the first of them. `initializers` are those of these convolutions.
    """

    @for_images_of(image_size)
    def network(
        inputs: Any,
        num_classes: int = 1000,
        is_training: bool = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        functions = [layers.conv2d, layers.fully_connected, layers.max_pool2d]
        dropout = functools.partial(
            layers.dropout, keep_prob=dropout_keep_prob, is_training=is_training
        )
        with scope_block.variable_scope(scope, name, [inputs]) as opened:
            with collecting_outputs(opened, functions) as outputs:
                net = inputs
                for function, arguments in features:
                    net = function(net, **arguments)
                with argument_scopes.arg_scope([layers.conv2d], **initializers):
                    size, filters = first
                    net = layers.conv2d(net, filters, size, padding="VALID", scope="fc6")
                    net = dropout(net, scope="dropout6")
                    net = layers.conv2d(net, 4096, 1, scope="fc7")
                    net = dropout(net, scope="dropout7")
                    logits: dict[str, Any] = {"activation_fn": None, "normalizer_fn": None}
                    if initializers:
                        logits["biases_initializer"] = init_ops.zeros_initializer()
                    net = layers.conv2d(net, num_classes, 1, scope="fc8", **logits)
            if spatial_squeeze:
                net = array_ops.squeeze(net, [1, 2], name="fc8/squeezed")
                outputs[f"{opened.name}/fc8"] = net
            return net, outputs

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"""Return the logits, and the outputs of layers by their names.

    The dense layers are convolutions. With `spatial_squeeze`, the logits of images of
    {image_size} by {image_size} lose their axes of size 1. Set it to False for larger images.
    """
    return network
