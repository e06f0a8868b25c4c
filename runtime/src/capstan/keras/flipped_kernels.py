"""Kernels of convolutions for Theano (python/keras/utils/{layer_utils,conv_utils}.py).

Theano turns a kernel around before it multiplies. A kernel turned around gives the same result.
"""

from typing import Any

import numpy as np

from capstan.keras import backend
from capstan.keras.layers import convolutional

_LAYERS = frozenset(
    kind.__name__
    for kind in (
        convolutional.Conv1D,
        convolutional.Conv2D,
        convolutional.Conv3D,
        convolutional.Conv2DTranspose,
    )
)


def convert_all_kernels_in_model(model: Any) -> None:
    """Turn the kernels of all convolutions of a model around, for Theano or from Theano."""
    kernels = [layer.kernel for layer in model.layers if type(layer).__name__ in _LAYERS]
    turned = [convert_kernel(value) for value in backend.batch_get_value(kernels)]
    backend.batch_set_value(list(zip(kernels, turned, strict=True)))


def convert_kernel(kernel: Any) -> np.ndarray:
    """Return a kernel whose spatial axes, all but the last two, are turned around.

    Raises:
        ValueError: the array has not 3 to 5 axes.
    """
    array = np.asarray(kernel)
    if not 3 <= array.ndim <= 5:
        raise ValueError("Invalid kernel shape:", array.shape)
    return np.flip(array, tuple(range(array.ndim - 2))).copy()
