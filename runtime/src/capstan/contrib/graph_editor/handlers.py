"""What a Transformer does with each operation, tensor and control input
(contrib/graph_editor/transform.py).

`info` is the Transform of the call. A name that ends with an underscore belongs to the copy.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from capstan.contrib.graph_editor import placeholders, subgraph
from capstan.core import attr_value, graph_def
from capstan.framework import facts, opdef

__all__ = [
    "assign_renamed_collections_handler", "copy_op_handler", "keep_t_if_possible_handler",
    "replace_t_with_placeholder_handler", "transform_op_if_inside_handler",
]  # fmt: skip


class Transform:
    """One call of a Transformer: what it copies, to where, and what has been copied so far."""

    def __init__(
        self, sgv: subgraph.SubGraphView, dst_graph: Any, dst_scope: str, src_scope: str
    ) -> None:
        self.sgv = sgv
        self.sgv_inputs_set = frozenset(sgv.inputs)
        self.ops = frozenset(sgv.ops)
        self.graph = sgv.graph
        self.scope = src_scope
        self.graph_ = dst_graph
        self.scope_ = dst_scope
        self.transformed_ops: dict[Any, Any] = {}
        self.transformed_ts: dict[Any, Any] = {}
        self.collections = (
            {}
            if self.graph is None
            else {
                key: self.graph.get_collection(key) for key in self.graph.get_all_collection_keys()
            }
        )
        self.collection_names: dict[int, list[Any]] = {}
        """The collections of each element, by its identity."""
        for key, values in self.collections.items():
            for value in values:
                self.collection_names.setdefault(id(value), []).append(key)
        self.external_ts: dict[Any, Any] = {}
        """What the copies read in place of each tensor that enters."""
        self.frames = self._new_frames()
        """The frames of the copied loops, by the frames of the loops."""

    def _new_frames(self) -> dict[Any, bytes]:
        """Return a new name for each frame all of whose entries are copied.

        Two loops of one step must not run in the same frame.
        """
        entries: dict[Any, list[Any]] = {}
        for op in () if self.graph is None else self.graph.get_operations():
            if opdef.role(op.type) is facts.Role.ENTER:
                entries.setdefault(op.node.attrs["frame_name"], []).append(op)
        names = {
            frame: attr_value.text(frame)
            for frame, ops in entries.items()
            if self.ops.issuperset(ops)
        }
        return {
            frame: self.graph_.unique_name(self.new_name(name)).encode()
            for frame, name in names.items()
            if name.startswith(self.scope)
        }

    def new_name(self, name: str) -> str:
        """Return the name of a copy. Raise ValueError if `name` is not in the source scope."""
        if not name.startswith(self.scope):
            raise ValueError(f"{name} does not belong to source scope: {self.scope}.")
        return self.scope_ + name[len(self.scope) :]


def replace_t_with_placeholder_handler(info: Transform, t: Any) -> Any:
    """Return a new placeholder of the other graph for `t`."""
    with info.graph_.as_default():
        return placeholders.make_placeholder_from_tensor(t, scope=info.scope_)


def keep_t_if_possible_handler(info: Transform, t: Any) -> Any:
    """Return `t` itself, or a placeholder if the copy is in another graph."""
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(info: Transform, elem: Any, elem_: Any) -> None:
    """Add the copy of an element to its collections.

    Collections of `tf.GraphKeys` keep their names. The other names are changed as the names of
    operations are.
    """
    known = placeholders.get_predefined_collection_names()
    for name in info.collection_names.get(id(elem), ()):
        info.graph_.add_to_collection(name if name in known else info.new_name(name), elem_)


def transform_op_if_inside_handler(info: Transform, op: Any, keep_if_possible: bool = True) -> Any:
    """Return the copy of an operation that is copied, else the operation itself.

    If the copies are in another graph, or `keep_if_possible` is false, return None for an operation
    that is not copied.
    """
    if op in info.ops:
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


def copy_op_handler(
    info: Transform,
    op: Any,
    new_inputs: Any,
    copy_shape: bool = False,
    nodedef_fn: Callable[[Any], Any] | None = None,
) -> tuple[Any, list[Any]]:
    """Add a copy of an operation that reads `new_inputs`. Return it, and its outputs.

    The copy gets the static shapes of the outputs as well if `copy_shape`. `nodedef_fn` takes the
    NodeDef of the copy and returns the one that is used.

    Raises:
        TypeError: `new_inputs` is a bool: an old handler without this argument was called.
    """
    if isinstance(new_inputs, bool):
        raise TypeError("the `new_inputs` argument must be an iterable.")
    node = replace(op.node, name=info.graph_.unique_name(info.new_name(op.name)))
    if nodedef_fn is not None:
        node = graph_def.decode_node(nodedef_fn(graph_def.encode_node(node)))
    attrs = dict(node.attrs)
    if "frame_name" in attrs:
        attrs["frame_name"] = info.frames.get(attrs["frame_name"], attrs["frame_name"])
    with _unscoped(info.graph_):
        op_ = info.graph_.create_op(
            node.op,
            list(new_inputs),
            [t.dtype for t in op.outputs],
            name=f"{node.name}/",
            attrs=attrs,
            compute_device=False,
        )
    op_._set_device(node.device)
    if copy_shape:
        for t, t_ in zip(op.outputs, op_.outputs, strict=True):
            t_.set_shape(t.shape)
    return op_, op_.outputs


@contextmanager
def _unscoped(graph: Any) -> Iterator[None]:
    """Build operations without the groups and control inputs of the open blocks.

    They still belong to the conditional or loop that is being built.
    """
    context = graph.control_flow_context
    with (
        graph.control_dependencies(None),
        graph.in_control_flow_context(context),
        graph.colocate_with(None, ignore_existing=True),
    ):
        yield
