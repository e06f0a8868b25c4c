"""How the layers name their variables and collect their variables and outputs.

The behaviour follows contrib/layers/python/layers/layers.py and utils.py.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from capstan.contrib.framework import variables
from capstan.framework import graph as graphs


def renaming(**names: str) -> Callable[..., Any]:
    """Return a getter that makes model variables, whose last name is changed as `names` says."""

    def renamed(getter: Callable[..., Any], name: str, **arguments: Any) -> Any:
        scope, slash, last = name.rpartition("/")
        # `get_variable` adds the reuse of the scope and a constraint. `model_variable` has neither.
        for unknown in ("reuse", "constraint", "validate_shape"):
            arguments.pop(unknown, None)
        full = f"{scope}{slash}{names.get(last, last)}"
        return variables.model_variable(full, custom_getter=getter, **arguments)

    return renamed


def collections_for(variables_collections: Any, name: str) -> list[str]:
    """Return the collections of a variable: from a list for all, or a mapping from names."""
    if isinstance(variables_collections, Mapping):
        return list(variables_collections.get(name) or ())
    return list(variables_collections or ())


def collect_variables(variables_collections: Any, **named: Any) -> None:
    """Add the variables of a layer to the collections of their names. None is not a variable."""
    graph = graphs.get_default_graph()
    for name, variable in named.items():
        if variable is None:
            continue
        parts = [variable] if hasattr(variable, "op") else list(variable)
        for key in collections_for(variables_collections, name):
            known = {id(member) for member in graph.get_collection(key)}
            for part in parts:
                if id(part) not in known:
                    graph.add_to_collection(key, part)


def finished(
    outputs: Any,
    activation_fn: Callable[[Any], Any] | None,
    outputs_collections: Any,
    alias: str,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
) -> Any:
    """Normalize outputs, apply the activation, and add the result to the collections."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collected(outputs_collections, alias, outputs)


def collected(collections: Any, alias: str, outputs: Any) -> Any:
    """Return the outputs, after adding them to the collections under an alias."""
    if collections:
        append_tensor_alias(outputs, alias)
        graphs.get_default_graph().add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Give a tensor one more alias, in its attribute `aliases`."""
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias.removesuffix("/")]
    return tensor


def gather_tensors_aliases(tensors: Iterable[Any]) -> list[str]:
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def get_tensor_aliases(tensor: Any) -> list[str]:
    """Return the aliases of a tensor, or its name if it has none."""
    own = tensor.op.name if tensor.name.endswith(":0") else tensor.name
    return list(getattr(tensor, "aliases", ()) or [own])


def convert_collection_to_dict(
    collection: str, clear_collection: bool = False
) -> "OrderedDict[str, Any]":
    """Return the tensors of a collection by their aliases, in their order."""
    graph = graphs.get_default_graph()
    tensors = OrderedDict(
        (alias, tensor)
        for tensor in graph.get_collection(collection)
        for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        graph.clear_collection(collection)
    return tensors
