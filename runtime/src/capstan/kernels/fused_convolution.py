"""Kernels of convolutions that pad, and perhaps resize, their images first
(core/kernels/conv_ops_fused_image_transform.cc). They call the kernels of the parts.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.framework import opdef
from capstan.kernels import registry
from capstan.kernels.registry import Function, Kernel, NodeContext, register


def _part(node: NodeContext, op: str, attrs: Mapping[str, Any]) -> Function:
    """Return the function of another op on the device of `node`."""
    known = {"T": node.attrs["T"], **opdef.lookup(op).defaults, **attrs}
    kernel = registry.find(op, "CPU", known)
    assert kernel is not None
    return kernel.bind(replace(node, op=op, attrs=known, constants={}))


def _padded(node: NodeContext) -> Function:
    attrs = node.attrs
    pad = _part(node, "MirrorPad", {"mode": attrs["mode"], "Tpaddings": dtypes.int32})
    convolve = _part(node, "Conv2D", {"strides": attrs["strides"], "padding": attrs["padding"]})

    def padded(images: Array, paddings: Array, kernel: Array) -> Any:
        return convolve(pad(images, paddings), kernel)

    return padded


def _resized(node: NodeContext) -> Function:
    resize = _part(node, "ResizeBilinear", {"align_corners": node.attrs["resize_align_corners"]})
    convolve = _padded(node)

    def resized(images: Array, size: Array, paddings: Array, kernel: Array) -> Any:
        return convolve(resize(images, size).astype(images.dtype), paddings, kernel)

    return resized


register(Kernel("FusedPadConv2D", _padded))
register(Kernel("FusedResizeAndPadConv2D", _resized))
