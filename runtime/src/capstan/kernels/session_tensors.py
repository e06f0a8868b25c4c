"""Kernels of tensors that a session keeps between its steps, in the memory of their device."""

from typing import Any, cast

import numpy as np

from capstan.core import attr_value
from capstan.core.arrays import Array
from capstan.kernels.memory import is_on_host, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import string
from capstan.kernels.stack import keeper
from capstan.resources import elements, session_tensors

_KEPT = "/session tensors"
"""The key of the store among the objects of the session. No node has a name like this."""


def _store(node: NodeContext) -> session_tensors.SessionTensors:
    kept = node.resources.keep(_KEPT, session_tensors.SessionTensors)
    return cast("session_tensors.SessionTensors", kept)


def _get_handle(node: NodeContext) -> Function:
    store, keep = _store(node), keeper(node)

    def get_handle(value: Any) -> Array:
        handle = store.add(node.name, node.device, keep(value))
        return elements.scalar(handle.encode())

    return get_handle


def _get(node: NodeContext) -> Function:
    store, here = _store(node), node.hardware

    def get(handle: Array) -> Any:
        text = attr_value.text(string(handle, "handle"))
        value = store.get(text)
        if is_on_host(value):
            stays = here.is_host or value.dtype.hasobject or value.dtype == np.int32
            return value if stays else here.copy_in(np.asarray(value))
        # The handle may be of a tensor of another device than the one that made the reader.
        home = node.resources.devices.of(session_tensors.device_of(text))
        if home is here:
            return value
        return on_host(value) if here.is_host else here.copy_across(value, home)

    return get


def _delete(node: NodeContext) -> Function:
    store = _store(node)

    def delete(handle: Array) -> None:
        store.delete(attr_value.text(string(handle, "handle")))

    return delete


register(Kernel("GetSessionHandle", _get_handle))
register(Kernel("GetSessionTensor", _get))
register(Kernel("DeleteSessionTensor", _delete))
