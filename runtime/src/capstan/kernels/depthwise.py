"""Kernels of convolutions that filter each channel by itself (core/kernels/depthwise_conv_op.cc).

On the host, compiled loops compute large images (`depthwise_passes`). For others, one call of
`einsum` computes an image. Its inner loop multiplies and adds the numbers of a whole row of pixels.
Other memory and other types take a product for each weight.
"""

from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import convolution, convolution_groups, depthwise_passes, sums
from capstan.kernels.convolution_geometry import Geometry
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import vector

_FEW_UNITS: Final = 8


def _has_lines(images: Array, shape: Geometry) -> bool:
    """Return whether `einsum` can run over the lines of images."""
    is_float = images.dtype in (np.float32, np.float64)
    return is_float and is_on_host(images) and min(*images.shape, shape.pixels, shape.units) > 0


def _padded(shape: Geometry, image: Array) -> Array:
    """Return an image with its padding. It has each channel once for each of its filters."""
    if (shape.rows.padded, shape.columns.padded) != image.shape[:2]:
        padded = shape.padded(image, 1)
        shape.interior(padded)[...] = image
        image = padded[0]
    return image if shape.units == 1 else image.repeat(shape.units, -1)


def _lines(shape: Geometry, padded: Array) -> Array:
    """Return the numbers that each line of output pixels multiplies by weights, in a view.

    The axes of the view are line, row of the filter, column of the filter, and place in the line.
    """
    rows, columns, channels = shape.rows, shape.columns, padded.shape[-1]
    if columns.stride == 1:
        lines = np.ascontiguousarray(padded)
        apart = columns.dilation * channels
    else:
        taps = [padded[:, columns.elements(j)] for j in range(columns.width)]
        lines, apart = np.stack(taps, 1), columns.count * channels
    line, item = lines.strides[0], lines.itemsize
    return np.lib.stride_tricks.as_strided(
        lines,
        (rows.count, rows.width, columns.width, columns.count * channels),
        (rows.stride * line, rows.dilation * line, apart * item, item),
        writeable=False,
    )


def _filtered(shape: Geometry, images: Array, kernel: Array, step: int = 1) -> Array:
    """Return the images of a convolution, whose channels are those of all filters.

    If `step` is -1, the filters are mirrored. The first weights still come first in each sum.
    """
    channels = shape.depth * shape.units
    weights = kernel.reshape(*kernel.shape[:2], 1, channels).repeat(shape.columns.count, 2)
    weights = weights.reshape(*kernel.shape[:2], -1)
    result = np.empty_like(images, shape=(len(images), shape.rows.count, weights.shape[-1]))
    for image, lines_out in zip(images, result, strict=True):
        lines = _lines(shape, _padded(shape, image))[:, ::step, ::step]
        np.einsum("hijk,ijk->hk", lines, weights, out=lines_out)
    return result.reshape(len(images), shape.rows.count, shape.columns.count, channels)


def _parts(images: Array) -> list[slice]:
    """Return the images to compute together. On the host, a single one stays in the cache."""
    if not is_on_host(images):
        return [slice(None)]
    return [slice(number, number + 1) for number in range(len(images))]


def _along(weights: Array, pixels: int) -> Array:
    """Return the weights of a tap for each of some pixels. NumPy's loops run over all of them."""
    return np.broadcast_to(weights, (pixels, *weights.shape)).copy()


def _conv(node: NodeContext) -> Function:
    passes = depthwise_passes.Passes()

    def conv(images: Array, kernel: Array) -> Array:
        images = convolution.channels_last(node, images)
        shape = convolution.geometry(node, images.shape, kernel.shape)
        if passes.serve(shape, images):
            return convolution.given_back(node, passes.forward(shape, images, kernel))
        if _has_lines(images, shape):
            return convolution.given_back(node, _filtered(shape, images, kernel))
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
    passes = depthwise_passes.Passes()

    def by_input(sizes: Array, kernel: Array, slope: Array) -> Array:
        image_shape = convolution.last_shape(node, tuple(vector(sizes, "input_sizes")))
        shape = convolution.geometry(node, image_shape, kernel.shape)
        slopes = _slopes(node, shape, image_shape[0], slope)
        turned = _turned(shape)
        if passes.serve(shape, slopes):
            slope = slopes.reshape(slopes.shape[:4])
            if turned is not None:
                found = passes.forward(turned, slope, kernel[::-1, ::-1])
            else:
                found = passes.by_input(shape, kernel, slope)
            return convolution.given_back(node, found)
        if turned is not None and min(image_shape) > 0 and _has_lines(slopes, shape):
            channels = (*slopes.shape[:3], turned.depth)
            spread = _filtered(turned, slopes.reshape(channels), kernel, -1)
            return convolution.given_back(
                node, _sum_of_units(spread.reshape(*image_shape, shape.units))
            )
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


def _turned(shape: Geometry) -> Geometry | None:
    """Return the geometry of the convolution of gradients with the mirrored filters, if any."""
    rows, columns = shape.rows.turned(), shape.columns.turned()
    if rows is None or columns is None:
        return None
    return Geometry(rows, columns, shape.depth * shape.units, 1)


def _sum_of_units(product: Array) -> Array:
    if product.shape[-1] > _FEW_UNITS:
        summed: Array = product.sum(-1)
        return summed
    # NumPy's loop would run over the few units of each pixel.
    total: Array = product[..., 0]
    for unit in range(1, product.shape[-1]):
        total = total + product[..., unit]
    return total


def _by_filter(node: NodeContext) -> Function:
    passes = depthwise_passes.Passes()

    def by_filter(images: Array, sizes: Array, slope: Array) -> Array:
        images = convolution.channels_last(node, images)
        kernel_shape = tuple(vector(sizes, "filter_sizes"))
        shape = convolution.geometry(node, images.shape, kernel_shape)
        slopes = _slopes(node, shape, len(images), slope)
        if passes.serve(shape, images):
            return passes.by_filter(shape, images, slopes).reshape(kernel_shape)
        if _has_lines(images, shape):
            return _correlated(shape, images, slopes).reshape(kernel_shape)
        result = np.zeros_like(slopes, shape=kernel_shape)
        for part in _parts(images):
            inputs, outputs = images[part][..., None], slopes[part]
            for i, across, above in shape.rows.inside():
                for j, along, beside in shape.columns.inside():
                    product = np.multiply(outputs[:, across, along], inputs[:, above, beside])
                    result[i, j] += sums.total(product, (0, 1, 2))
        return result

    return by_filter


def _correlated(shape: Geometry, images: Array, slopes: Array) -> Array:
    """Return the gradient by each weight."""
    size = (shape.rows.width, shape.columns.width, shape.columns.count * shape.depth * shape.units)
    totals = np.zeros_like(slopes, shape=size)
    for image, slope in zip(images, slopes, strict=True):
        slope_lines = slope.reshape(shape.rows.count, -1)
        lines = _lines(shape, _padded(shape, image))
        totals += np.einsum("hijk,hk->ijk", lines, slope_lines)
    by_weight: Array = totals.reshape(*size[:2], shape.columns.count, -1).sum(2)
    return by_weight


for _op, _make in (
    ("DepthwiseConv2dNative", _conv),
    ("DepthwiseConv2dNativeBackpropFilter", _by_filter),
    ("DepthwiseConv2dNativeBackpropInput", _by_input),
):
    register(Kernel(_op, convolution.in_single_precision(convolution_groups.in_space(_make))))
