"""Kernels of max pools that say where the largest elements are, and of their gradients."""

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import pooling
from capstan.kernels.memory import numbers
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _elements(node: NodeContext, x: Array) -> Array:
    """Return the number of each element in its image, or in the batch if the node says so."""
    if node.attrs["include_batch_in_index"]:
        return numbers(x.size, x).reshape(x.shape)
    size = int(np.prod(x.shape[1:]))
    return np.broadcast_to(numbers(size, x).reshape(1, *x.shape[1:]), x.shape)


def _max_with_argmax(node: NodeContext) -> Function:
    index = node.output_dtypes[1].as_numpy_dtype

    def max_with_argmax(x: Array) -> tuple[Array, Array]:
        axes = pooling.windows_over(node, x.shape)
        positions = _elements(node, x)
        largest = np.zeros_like(x, shape=pooling.output_shape(axes))
        chosen = np.full_like(largest, -1, np.int64)
        is_full = False
        for index_of_place, (outputs, elements) in enumerate(pooling.places_in(axes)):
            part, found = x[elements], positions[elements]
            if index_of_place == 0 and part.shape == largest.shape:
                largest[...], chosen[...], is_full = part, found, True
                continue
            target, places = largest[outputs], chosen[outputs]
            is_better = np.less(target, part)
            if not is_full:
                # Unlike MaxPool, TensorFlow takes a NaN if it is the first element of a window.
                np.logical_or(is_better, np.less(places, 0), is_better)
            largest[outputs] = np.where(is_better, part, target)
            chosen[outputs] = np.where(is_better, found, places)
        return largest, chosen.astype(index)

    return max_with_argmax


def _in_batch(node: NodeContext, x: Array, argmax: Array) -> Array:
    """Return the number in the batch of each element that `argmax` names, one row for each image.

    Raises:
        InvalidArgumentError: a number is not that of an element.
    """
    places = argmax.reshape(len(x), -1) if len(x) else argmax.reshape(0, 0)
    if not node.attrs["include_batch_in_index"]:
        size = int(np.prod(x.shape[1:]))
        places = np.add(places, numbers(len(x), places)[:, np.newaxis] * size)
    if places.size and not bool(np.all((places >= 0) & (places < x.size))):
        raise invalid(f"argmax must be the numbers of elements of the input {show(x.shape)}")
    return places


def _grad_with_argmax(node: NodeContext) -> Function:
    def grad_with_argmax(x: Array, grad: Array, argmax: Array) -> Array:
        shape = pooling.output_shape(pooling.windows_over(node, x.shape))
        for name, value in (("grad", grad), ("argmax", argmax)):
            pooling.check_like(name, value, shape)
        places = _in_batch(node, x, argmax)
        result = np.zeros_like(x)
        np.add.at(result.reshape(-1), places.reshape(-1), grad.reshape(-1))
        return result

    return grad_with_argmax


def _grad_grad_with_argmax(node: NodeContext) -> Function:
    def grad_grad_with_argmax(x: Array, grad: Array, argmax: Array) -> Array:
        shape = pooling.output_shape(pooling.windows_over(node, x.shape))
        for name, value, wanted in (("grad", grad, x.shape), ("argmax", argmax, shape)):
            pooling.check_like(name, value, wanted)
        places = _in_batch(node, x, argmax)
        chosen: Array = np.take(grad.reshape(-1), places).reshape(shape)
        return chosen

    return grad_grad_with_argmax


register(Kernel("MaxPoolWithArgmax", pooling.within_images(_max_with_argmax)))
register(Kernel("MaxPoolGradWithArgmax", pooling.within_images(_grad_with_argmax)))
register(Kernel("MaxPoolGradGradWithArgmax", pooling.within_images(_grad_grad_with_argmax)))
