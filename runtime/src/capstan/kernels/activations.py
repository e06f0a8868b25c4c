"""Kernels of activation functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.choice import choose
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

SCALE = 1.0507009873554804934193349852946
ALPHA = 1.6732632423543772848170429916717
"""The constants of SELU, with which activations keep mean 0 and variance 1."""


def _relu6(x: Array) -> Any:
    dtype = x.dtype.type
    return np.minimum(np.maximum(x, dtype(0)), dtype(6))


def _elu(x: Array) -> Any:
    return choose(np.less(x, 0), np.expm1(np.minimum(x, x.dtype.type(0))), x)


def _selu(x: Array) -> Any:
    dtype = x.dtype.type
    below = np.multiply(np.expm1(np.minimum(x, dtype(0))), dtype(SCALE * ALPHA))
    return choose(np.less(x, 0), below, np.multiply(x, dtype(SCALE)))


def _softplus(x: Array) -> Any:
    return np.add(np.log1p(np.exp(-np.abs(x))), np.maximum(x, x.dtype.type(0)))


def _softsign(x: Array) -> Any:
    return np.divide(x, np.add(np.abs(x), x.dtype.type(1)))


def _relu6_grad(grad: Array, x: Array) -> Any:
    return np.multiply(grad, np.logical_and(np.greater(x, 0), np.less(x, 6)))


def _elu_grad(grad: Array, y: Array) -> Any:
    return choose(np.less(y, 0), np.multiply(grad, np.add(y, y.dtype.type(1))), grad)


def _selu_grad(grad: Array, y: Array) -> Any:
    dtype = y.dtype.type
    below = np.multiply(grad, np.add(y, dtype(SCALE * ALPHA)))
    return choose(np.less(y, 0), below, np.multiply(grad, dtype(SCALE)))


def _softplus_grad(grad: Array, x: Array) -> Any:
    return np.divide(grad, np.add(np.exp(-x), x.dtype.type(1)))


def _softsign_grad(grad: Array, x: Array) -> Any:
    return np.divide(grad, np.square(np.add(np.abs(x), x.dtype.type(1))))


def _leaky_relu(node: NodeContext) -> Function:
    alpha = node.attrs["alpha"]

    def leaky_relu(x: Array) -> Any:
        return choose(np.greater(x, 0), x, np.multiply(x, x.dtype.type(alpha)))

    return leaky_relu


def _leaky_relu_grad(node: NodeContext) -> Function:
    alpha = node.attrs["alpha"]

    def slope(grad: Array, x: Array) -> Any:
        return choose(np.greater(x, 0), grad, np.multiply(grad, grad.dtype.type(alpha)))

    return _alike("LeakyReluGrad", slope)


def _alike(name: str, function: Callable[[Array, Array], Any]) -> Function:
    """Require two arrays of one shape."""

    def checked(grad: Array, x: Array) -> Any:
        if grad.shape != x.shape:
            raise invalid(
                f"Inputs to {name} must have the same size and shape, but are {show(grad.shape)} "
                f"and {show(x.shape)}"
            )
        return function(grad, x)

    return checked


for _name, _function, _slope in (
    ("Relu6", _relu6, _relu6_grad),
    ("Elu", _elu, _elu_grad),
    ("Selu", _selu, _selu_grad),
    ("Softplus", _softplus, _softplus_grad),
    ("Softsign", _softsign, _softsign_grad),
):
    register(Kernel(_name, constantly(_function)))
    register(Kernel(f"{_name}Grad", constantly(_alike(f"{_name}Grad", _slope))))
register(Kernel("LeakyRelu", _leaky_relu))
register(Kernel("LeakyReluGrad", _leaky_relu_grad))
