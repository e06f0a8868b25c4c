"""Nested lists, tuples and dictionaries of tensors and operations
(contrib/graph_editor/util.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.contrib.graph_editor import placeholders
from capstan.contrib.graph_editor.elements import is_iterable
from capstan.framework import graph as graphs

__all__ = ["find_corresponding", "find_corresponding_elem", "flatten_tree", "transform_tree"]


def flatten_tree(tree: Any, leaves: list[Any] | None = None) -> list[Any]:
    """Add the leaves of `tree` to the list `leaves`, by default a new one, and return the list."""
    leaves = [] if leaves is None else leaves
    if _is_leaf(tree):
        leaves.append(tree)
    else:
        for child in tree.values() if isinstance(tree, dict) else tree:
            flatten_tree(child, leaves)
    return leaves


def transform_tree(tree: Any, fn: Callable[[Any], Any], iterable_type: Any = tuple) -> Any:
    """Return a tree of the same structure with `fn(leaf)` for each leaf.

    A part that is not a dictionary, tuple or sequence becomes an `iterable_type`.
    """
    if _is_leaf(tree):
        return fn(tree)
    if isinstance(tree, dict):
        return type(tree)((key, transform_tree(child, fn)) for key, child in tree.items())
    children = [transform_tree(child, fn) for child in tree]
    if hasattr(tree, "_fields"):
        return type(tree)(*children)  # a named tuple
    made: Any = type(tree) if isinstance(tree, Sequence) else iterable_type
    return made(children)


def _is_leaf(tree: Any) -> bool:
    return isinstance(tree, str) or not is_iterable(tree)


def find_corresponding_elem(
    target: Any, dst_graph: graphs.Graph, dst_scope: str = "", src_scope: str = ""
) -> Any:
    """Return the operation or tensor of `dst_graph` that has the name of `target`.

    `src_scope` is removed from the name, and then `dst_scope` is put before it.

    Raises:
        KeyError: `dst_graph` has no such operation or tensor.
        TypeError: `target` is not an operation or tensor.
        ValueError: `target` is not in `src_scope`.
    """
    if not isinstance(target, graphs.Tensor | graphs.Operation):
        raise TypeError(f"Expected tf.Tensor or tf.Operation, got: {type(target)}")
    scope = placeholders.scope_finalize(src_scope)
    if not target.name.startswith(scope):
        raise ValueError(f"{target.name} does not start with {scope}")
    name = placeholders.scope_finalize(dst_scope) + target.name[len(scope) :]
    if isinstance(target, graphs.Tensor):
        return dst_graph.get_tensor_by_name(name)
    return dst_graph.get_operation_by_name(name)


def find_corresponding(
    targets: Any, dst_graph: graphs.Graph, dst_scope: str = "", src_scope: str = ""
) -> Any:
    """Return a tree with `find_corresponding_elem` of each leaf of `targets`."""
    return transform_tree(
        targets, lambda target: find_corresponding_elem(target, dst_graph, dst_scope, src_scope)
    )
