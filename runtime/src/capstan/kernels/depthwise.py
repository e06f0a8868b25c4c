"""Kernels of convolutions that filter each channel by itself: one product for each weight."""

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import convolution, sums
from capstan.kernels.convolution_geometry import Geometry
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import vector


def _parts(images: Array) -> list[slice]:
    """Return the images to compute together. On the host, a single one stays in the cache."""
    if not is_on_host(images):
        return [slice(None)]
    return [slice(number, number + 1) for number in range(len(images))]


def _along(weights: Array, pixels: int) -> Array:
    """Return the weights of a tap for each of some pixels. NumPy's loops run over all of them."""
    return np.broadcast_to(weights, (pixels, *weights.shape)).copy()


def _conv(node: NodeContext) -> Function:
    def conv(images: Array, kernel: Array) -> Array:
        images = convolution.channels_last(node, images)
        shape = convolution.geometry(node, images.shape, kernel.shape)
        outer = (len(images), shape.rows.count, shape.columns.count)
        result = np.zeros_like(images, shape=(*outer, shape.depth, shape.units))
        for part in _parts(images):
            outputs, inputs = result[part], images[part][..., None]
            for i, across, above in shape.rows.inside():
                for j, along, beside in shape.columns.inside():
                    target = outputs[:, across, along]
                    weights = _along(kernel[i, j], target.shape[2])
                    np.add(target, np.multiply(inputs[:, above, beside], weights), target)
        images_out = result.reshape(*outer, shape.depth * shape.units)
        return convolution.given_back(node, images_out)

    return conv


def _slopes(node: NodeContext, shape: Geometry, images: int, slope: Array) -> Array:
    """Return the gradients by the outputs, with separate axes for channels and their filters."""
    slope = convolution.channels_last(node, slope)
    convolution.check_slope(shape, images, slope, shape.depth * shape.units)
    return slope.reshape(*slope.shape[:3], shape.depth, shape.units)


def _by_input(node: NodeContext) -> Function:
    def by_input(sizes: Array, kernel: Array, slope: Array) -> Array:
        image_shape = convolution.last_shape(node, tuple(vector(sizes, "input_sizes")))
        shape = convolution.geometry(node, image_shape, kernel.shape)
        slopes = _slopes(node, shape, image_shape[0], slope)
        result = np.zeros_like(slopes, shape=image_shape)
        for part in _parts(slopes):
            inputs, outputs = result[part], slopes[part]
            for i, across, above in shape.rows.inside():
                for j, along, beside in shape.columns.inside():
                    target = inputs[:, above, beside]
                    weights = _along(kernel[i, j], target.shape[2])
                    product = np.multiply(outputs[:, across, along], weights)
                    np.add(target, _sum_of_units(product), target)
        return convolution.given_back(node, result)

    return by_input


def _sum_of_units(product: Array) -> Array:
    return product[..., 0] if product.shape[-1] == 1 else product.sum(-1)


def _by_filter(node: NodeContext) -> Function:
    def by_filter(images: Array, sizes: Array, slope: Array) -> Array:
        images = convolution.channels_last(node, images)
        kernel_shape = tuple(vector(sizes, "filter_sizes"))
        shape = convolution.geometry(node, images.shape, kernel_shape)
        slopes = _slopes(node, shape, len(images), slope)
        result = np.zeros_like(slopes, shape=kernel_shape)
        for part in _parts(images):
            inputs, outputs = images[part][..., None], slopes[part]
            for i, across, above in shape.rows.inside():
                for j, along, beside in shape.columns.inside():
                    product = np.multiply(outputs[:, across, along], inputs[:, above, beside])
                    result[i, j] += sums.total(product, (0, 1, 2))
        return result

    return by_filter


for _op, _make in (
    ("DepthwiseConv2dNative", _conv),
    ("DepthwiseConv2dNativeBackpropFilter", _by_filter),
    ("DepthwiseConv2dNativeBackpropInput", _by_input),
):
    register(Kernel(_op, convolution.in_single_precision(_make)))
