"""Placeholders that the graph editor creates, and their names (contrib/graph_editor/util.py)."""

from typing import Any, Final

from capstan.api import creation_ops
from capstan.framework import collections
from capstan.framework import graph as graphs

__all__ = [
    "get_predefined_collection_names", "make_placeholder_from_dtype_and_shape",
    "make_placeholder_from_tensor", "placeholder_name", "scope_basename", "scope_dirname",
    "scope_finalize",
]  # fmt: skip

_PREFIX: Final = "geph"
"""TensorFlow's name for a placeholder of the graph editor."""


def scope_finalize(scope: str) -> str:
    """Return `scope` with a slash at its end, if it is not empty."""
    return f"{scope}/" if scope and not scope.endswith("/") else scope


def scope_dirname(scope: str) -> str:
    """Return the part of a name up to the last slash."""
    return scope[: scope.rfind("/") + 1]


def scope_basename(scope: str) -> str:
    """Return the part of a name after the last slash."""
    return scope[scope.rfind("/") + 1 :]


def placeholder_name(t: Any = None, scope: str | None = None, prefix: str = _PREFIX) -> str:
    """Return the name of the placeholder for the tensor `t`, or of one for no tensor.

    The name begins with `scope`, by default that of `t`, and with `prefix`.

    Raises:
        TypeError: `t` is not a tensor.
    """
    if t is None:
        return scope_finalize(scope or "") + prefix
    if not isinstance(t, graphs.Tensor):
        raise TypeError(f"Expected a tf.Tensor, got: {type(t)}")
    folder = scope_dirname(t.op.name) if scope is None else scope_finalize(scope)
    base = scope_basename(t.op.name)
    if base.startswith(f"{prefix}__"):
        return folder + base
    return f"{folder}{prefix}__{base}_{t.value_index}"


def make_placeholder_from_tensor(t: Any, scope: str | None = None, prefix: str = _PREFIX) -> Any:
    """Return a placeholder of the type and the static shape of `t`, in the default graph.

    Its name is `placeholder_name(t, scope, prefix)`, in the current name scope.

    Raises:
        TypeError: `t` is not a tensor.
    """
    name = placeholder_name(t, scope, prefix)
    return creation_ops.placeholder(t.dtype.base_dtype, t.get_shape(), name)


def make_placeholder_from_dtype_and_shape(
    dtype: Any, shape: Any = None, scope: str | None = None, prefix: str = _PREFIX
) -> Any:
    """Return a placeholder in the default graph. Its name is `prefix`, in `scope`."""
    return creation_ops.placeholder(dtype, shape, placeholder_name(None, scope, prefix))


def get_predefined_collection_names() -> list[str]:
    """Return the names of the collections that `tf.GraphKeys` has."""
    keys = collections.GraphKeys
    return [getattr(keys, key) for key in dir(keys) if not key.startswith("__")]
