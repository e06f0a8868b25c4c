"""Copies of parts of a graph (contrib/graph_editor/transform.py).

The copies of operations have the devices, attributes and control inputs of the originals. Variables
are operations, too: the copy of a reference variable is another variable, without a value of its
own at first. The copies of a loop run in a frame of their own, but have no gradient.
"""

from collections.abc import Mapping
from typing import Any

from capstan.contrib.graph_editor import (
    control_outputs,
    elements,
    handlers,
    placeholders,
    reroute,
    subgraph,
    transformed,
    trees,
    walks,
)
from capstan.core import attr_value
from capstan.framework import facts, opdef
from capstan.framework import graph as graphs

__all__ = ["Transformer", "copy", "copy_with_input_replacements", "graph_replace"]


class Transformer:
    """Copies a part of a graph. A program may replace each of the handlers.

    `transform_op_handler(info, op, new_inputs)` adds the copy of an operation.
    `transform_control_input_handler(info, op)` returns the control input of the copies for a
    control input, or None. `assign_collections_handler(info, element, element_)` adds copies to
    collections. `transform_external_input_handler(info, t)` returns what the copies read in place
    of an input of the view, by default a placeholder.
    `transform_external_hidden_input_handler(info, t)` does so for a tensor that the operations read
    but that is not an input of the view, by default the tensor itself.
    `transform_original_op_handler` is for TensorFlow's attribute `_original_op`, if an operation
    has it.
    """

    def __init__(self) -> None:
        self.transform_op_handler: Any = handlers.copy_op_handler
        self.transform_control_input_handler: Any = handlers.transform_op_if_inside_handler
        self.assign_collections_handler: Any = handlers.assign_renamed_collections_handler
        self.transform_external_input_handler: Any = handlers.replace_t_with_placeholder_handler
        self.transform_external_hidden_input_handler: Any = handlers.keep_t_if_possible_handler
        self.transform_original_op_handler: Any = handlers.transform_op_if_inside_handler

    def __call__(
        self,
        sgv: Any,
        dst_graph: Any,
        dst_scope: str,
        src_scope: str = "",
        reuse_dst_scope: bool = False,
    ) -> tuple[Any, Any]:
        """Copy a view, or what `make_view` takes, to `dst_graph`.

        The name `src_scope/x` becomes `dst_scope/x`, with a number after `dst_scope` if that scope
        exists, unless `reuse_dst_scope`. Return the view of the copies, and a TransformerInfo.

        Raises:
            TypeError: `dst_graph` is not a graph.
            ValueError: a name is not in `src_scope`.
        """
        view = subgraph.make_view(sgv)
        if not isinstance(dst_graph, graphs.Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(dst_graph)}")
        src_scope = placeholders.scope_finalize(src_scope)
        dst_scope = placeholders.scope_finalize(dst_scope)
        if dst_scope and not reuse_dst_scope:
            dst_scope = f"{dst_graph.unique_name(dst_scope[:-1])}/"
        info = handlers.Transform(view, dst_graph, dst_scope, src_scope)
        if view and view.graph is not dst_graph:
            for each in view.graph.functions():
                dst_graph.add_function(each, view.graph.python_gradient(each.name))
            dst_graph.keep(view.graph)  # the Python functions that operations call belong to it
        self._copy_ops(info)
        for op in view.ops:
            self._connect_control_inputs(info, op)
        if info.graph is not info.graph_:
            _rename_groups(info)
        return _copied_view(info, view), transformed.TransformerInfo(info)

    def _copy_ops(self, info: handlers.Transform) -> None:
        """Copy the operations in the order in which they were created.

        An input that is copied later, in a loop, is temporary until all operations are copied.
        """
        late: list[tuple[Any, Any, Any]] = []
        for op in sorted(info.ops, key=lambda op: op.creation_index):
            new_inputs = []
            for t in op.inputs:
                if t.op in info.ops and t not in info.transformed_ts:
                    new_inputs.append(self._temporary(info, t, op))
                    late.append((op, t, new_inputs[-1]))
                else:
                    new_inputs.append(self._new_input(info, t))
            op_, outputs_ = self.transform_op_handler(info, op, new_inputs)
            if op is op_:
                raise ValueError(
                    f"In-place transformation not allowed. The handler returned {op.name} itself"
                )
            info.transformed_ops[op] = op_
            self.assign_collections_handler(info, op, op_)
            for t, t_ in zip(op.outputs, outputs_, strict=True):
                info.transformed_ts[t] = t_
                self.assign_collections_handler(info, t, t_)
        for op, t, temporary in late:
            op_ = info.transformed_ops[op]
            index = max(i for i, each in enumerate(op_.inputs) if each is temporary)
            op_._update_input(index, info.transformed_ts[t])

    def _new_input(self, info: handlers.Transform, t: Any) -> Any:
        """Return what the copies read in place of `t`, which is copied or comes from outside."""
        if t in info.transformed_ts:
            return info.transformed_ts[t]
        if t not in info.external_ts:
            handler = (
                self.transform_external_input_handler
                if t in info.sgv_inputs_set
                else self.transform_external_hidden_input_handler
            )
            info.external_ts[t] = handler(info, t)
        return info.external_ts[t]

    def _temporary(self, info: handlers.Transform, t: Any, consumer_op: Any) -> Any:
        """Return what a copy reads in place of `t` until `t` is copied."""
        first = consumer_op.inputs[0]
        is_merge = opdef.role(consumer_op.type) is facts.Role.MERGE
        if is_merge and (first.op not in info.ops or first in info.transformed_ts):
            return self._new_input(info, first)
        with info.graph_.as_default():
            return placeholders.make_placeholder_from_tensor(t, info.scope_, "geph_tmp")

    def _connect_control_inputs(self, info: handlers.Transform, op: Any) -> None:
        op_ = info.transformed_ops[op]
        original = getattr(op, "_original_op", None)
        if original is not None:
            op_._original_op = self.transform_original_op_handler(info, original)
        sources = [self.transform_control_input_handler(info, each) for each in op.control_inputs]
        reroute.add_control_inputs(
            op_,
            [each for each in sources if each is not None and each not in op_.control_inputs],
        )


def _rename_groups(info: handlers.Transform) -> None:
    """Colocate copies with copies, in another graph. A group without a copy keeps its name."""
    names = {op.name: copy.name for op, copy in info.transformed_ops.items()}
    for op_ in info.transformed_ops.values():
        groups = [attr_value.text(each) for each in op_.node.attrs.get("_class", ())]
        if groups:
            renamed = [f"loc:@{names.get(each[5:], each[5:])}".encode() for each in groups]
            op_._set_attr("_class", renamed)


def _copied_view(info: handlers.Transform, view: Any) -> Any:
    """Return the view of the copies, with the inputs and outputs in the order of the originals."""
    made = subgraph.SubGraphView(list(info.transformed_ops.values()))
    inputs = [info.external_ts[t] for t in view.inputs if t in info.external_ts]
    outputs = [info.transformed_ts[t] for t in view.outputs if t in info.transformed_ts]
    known_inputs, known_outputs = set(made.inputs), set(made.outputs)
    return made.remap(
        [t for t in dict.fromkeys(inputs) if t in known_inputs],
        [t for t in outputs if t in known_outputs],
    )


def copy(
    sgv: Any,
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[Any, Any]:
    """Copy a view, or what `make_view` takes, to `dst_graph`, by default its own graph.

    The copies read placeholders in place of the inputs of the view. Return the view of the copies,
    and a TransformerInfo. `Transformer.__call__` explains the other arguments and the errors.
    """
    view = subgraph.make_view(sgv)
    graph = view.graph if dst_graph is None else dst_graph
    return Transformer()(view, graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Mapping[Any, Any],
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[Any, Any]:
    """Copy a view as `copy` does. The copies read `replacement_ts[t]` in place of an input `t`.

    They read the same tensor in place of another input, or a placeholder in another graph.
    """
    view = subgraph.make_view(sgv)
    graph = view.graph if dst_graph is None else dst_graph

    def replaced(info: handlers.Transform, t: Any) -> Any:
        if t in replacement_ts:
            return replacement_ts[t]
        return handlers.keep_t_if_possible_handler(info, t)

    copier = Transformer()
    copier.transform_external_input_handler = replaced
    return copier(view, graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Return tensors that are computed as `target_ts` are, but from other tensors.

    `target_ts` is a tensor or a tree of tensors. What lies between it and the keys of
    `replacement_ts` is copied, and the copies read the values of `replacement_ts`. A loop is copied
    as a whole. A target that depends on no key is returned itself.

    Raises:
        TypeError: a target or a key is not a tensor.
        ValueError: no target depends on a key.
    """
    targets = trees.flatten_tree(target_ts)
    graph = elements.get_unique_graph(targets, check_types=graphs.Tensor)
    ios = control_outputs.ControlOutputs(graph)
    ops = walks.get_walks_intersection_ops(list(replacement_ts), targets, control_ios=ios)
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    loops = {op.control_flow_context.loop for op in ops if op.control_flow_context is not None}
    elements.concatenate_unique(
        ops, [op for op in graph.get_operations() if loops.intersection(_loops_around(op))]
    )
    _, info = copy_with_input_replacements(
        ops, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope
    )
    return info.transformed(target_ts, lambda target: target)


def _loops_around(op: Any) -> list[Any]:
    found, context = [], op.control_flow_context
    while context is not None and context.loop is not None:
        found.append(context.loop)
        context = context.loop.outer
    return found
