"""The lines with which `saved_model_cli` shows the graphs and the signatures of a SavedModel."""

from collections.abc import Iterator
from typing import Any

from capstan.train.saved_model import tags

_DENIED = frozenset({"PrintV2", "ReadFile", "WriteFile"})
"""Operations with side effects on files or on the terminal of a server."""


def signature_def(folder: str, tag_set: str, key: str) -> Any:
    """Return the SignatureDef of a graph with a key.

    Raises:
        KeyError: the graph has no such signature.
        RuntimeError: no graph has these tags.
    """
    signatures = tags.get_meta_graph_def(folder, tag_set).signature_def
    if key not in signatures:
        raise KeyError(f"no SignatureDef has the key {key!r}; there are {sorted(signatures)}")
    return signatures[key]


def tag_sets(folder: str) -> Iterator[str]:
    """Yield the tags of each graph."""
    yield "The given SavedModel contains the following tag-sets:"
    for names in sorted(tags.get_saved_model_tag_sets(folder)):
        yield ", ".join(sorted(names))


def signature_keys(folder: str, tag_set: str) -> Iterator[str]:
    """Yield the keys of the signatures of a graph.

    Raises:
        RuntimeError: no graph has these tags.
    """
    signatures = tags.get_meta_graph_def(folder, tag_set).signature_def
    yield "The given SavedModel MetaGraphDef contains SignatureDefs with the following keys:"
    for key in sorted(signatures):
        yield f'SignatureDef key: "{key}"'


def signature(folder: str, tag_set: str, key: str) -> Iterator[str]:
    """Yield the dtypes, shapes and names of the tensors of a signature, and its method.

    Raises:
        KeyError: the graph has no such signature.
        RuntimeError: no graph has these tags.
    """
    shown = signature_def(folder, tag_set, key)
    for kind, infos in (("input", shown.inputs), ("output", shown.outputs)):
        yield f"The given SavedModel SignatureDef contains the following {kind}(s):"
        for name in sorted(infos):
            yield f"  {kind}s['{name}'] tensor_info:"
            yield from _tensor(infos[name])
    yield f"Method name is: {shown.method_name}"


def everything(folder: str) -> Iterator[str]:
    """Yield the signatures of all graphs."""
    for names in sorted(tags.get_saved_model_tag_sets(folder)):
        yield ""
        yield (
            f"MetaGraphDef with tag-set: '{', '.join(names)}' contains the following SignatureDefs:"
        )
        tag_set = ",".join(names)
        for key in sorted(tags.get_meta_graph_def(folder, tag_set).signature_def):
            yield ""
            yield f"signature_def['{key}']:"
            for line in signature(folder, tag_set, key):
                yield f"  {line}"


def denied_operations(meta_graph_def: Any) -> str:
    """Return a line that tells which operations of a graph a server should not run."""
    graph_def, found = meta_graph_def.graph_def, meta_graph_def.meta_info_def.tags
    bodies = [function.node_def for function in graph_def.library.function]
    kinds = {node.op for nodes in (graph_def.node, *bodies) for node in nodes}
    if kinds & _DENIED:
        return (
            f"MetaGraph with tag set {found} contains the following blacklisted ops: "
            f"{kinds & _DENIED}"
        )
    return f"MetaGraph with tag set {found} does not contain blacklisted ops."


def _tensor(info: Any) -> Iterator[str]:
    from tensorboard.compat.proto import types_pb2

    sizes = ", ".join(str(dim.size) for dim in info.tensor_shape.dim)
    yield f"      dtype: {types_pb2.DataType.Name(info.dtype)}"
    yield f"      shape: {'unknown_rank' if info.tensor_shape.unknown_rank else f'({sizes})'}"
    yield f"      name: {info.name}"
