"""Kernels of tensors that a session keeps between its steps."""

from typing import Any, cast

from capstan.core import attr_value
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import string
from capstan.resources import elements, session_tensors

_KEPT = "/session tensors"
"""The key of the store among the objects of the session. No node has a name like this."""


def _store(node: NodeContext) -> session_tensors.SessionTensors:
    kept = node.resources.keep(_KEPT, session_tensors.SessionTensors)
    return cast("session_tensors.SessionTensors", kept)


def _get_handle(node: NodeContext) -> Function:
    store = _store(node)

    def get_handle(value: Any) -> Array:
        handle = store.add(node.name, node.device, elements.owned(value))
        return elements.scalar(handle.encode())

    return get_handle


def _get(node: NodeContext) -> Function:
    store = _store(node)

    def get(handle: Array) -> Any:
        return store.get(attr_value.text(string(handle, "handle")))

    return get


def _delete(node: NodeContext) -> Function:
    store = _store(node)

    def delete(handle: Array) -> None:
        store.delete(attr_value.text(string(handle, "handle")))

    return delete


register(Kernel("GetSessionHandle", _get_handle))
register(Kernel("GetSessionTensor", _get))
register(Kernel("DeleteSessionTensor", _delete))
