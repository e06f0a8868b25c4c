"""The fetches of `Session.run`: any nest of graph elements.

`resolve` flattens the nest once. After each step, `Fetches.rebuild` puts the values back into the
structure of the nest. TensorFlow has fetch mappers for this (python/client/session.py). The
flattened lists have no repeats, so an element that is fetched twice is computed once.
"""

import collections
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.client import expansions
from capstan.framework import composite, indexed_slices, nest, sparse_tensor
from capstan.framework import graph as graphs

Rebuild = Callable[[Mapping[object, Any]], Any]


@dataclass(frozen=True, slots=True)
class Fetches:
    """The tensors to fetch, the operations to run, and a function that restores the structure."""

    tensors: tuple[graphs.Tensor, ...]
    targets: tuple[graphs.Operation, ...]
    rebuild: Rebuild


def resolve(fetches: object, graph: graphs.Graph) -> Fetches:
    """Return the elements and the structure of a fetch argument.

    Raises:
        TypeError: an element is not a tensor, operation, variable or name.
        ValueError: a name is not in `graph`, or the element may not be fetched.
    """
    tensors: dict[graphs.Tensor, None] = {}
    targets: dict[graphs.Operation, None] = {}
    rebuild = _walk(fetches, graph, tensors, targets)
    return Fetches(tuple(tensors), tuple(targets), rebuild)


def structure(fetches: Any) -> object:
    """Return a lookup key. The keys of equal fetches in equal structures are equal.

    The key holds only names and elements of the graph. It is not hashable if the fetches hold a
    structure that is not hashable, such as a subclass of dict, or an object of a class that the
    program registered (`expansions`). The tensors of such an object may change between runs.
    """
    kind = type(fetches)
    if isinstance(fetches, list | tuple):
        return kind, *map(structure, fetches)
    if kind is dict or kind is collections.OrderedDict:
        return kind, tuple(fetches), *map(structure, fetches.values())
    if kind is indexed_slices.IndexedSlices or kind is sparse_tensor.SparseTensor:
        return kind, fetches.values, fetches.indices, fetches.dense_shape
    if isinstance(fetches, composite.Composite):
        return kind, *fetches._parts()
    if expansions.REGISTERED and expansions.find(fetches) is not None:
        return [fetches]
    return fetches


def _walk(
    fetch: Any,
    graph: graphs.Graph,
    tensors: dict[graphs.Tensor, None],
    targets: dict[graphs.Operation, None],
) -> Rebuild:
    def each(parts: Sequence[object]) -> list[Rebuild]:
        return [_walk(part, graph, tensors, targets) for part in parts]

    if isinstance(fetch, dict):
        empty = functools.partial(type(fetch), *_factory(fetch))
        named = list(zip(fetch, each(list(fetch.values())), strict=True))
        return lambda found: _filled(empty(), ((key, build(found)) for key, build in named))
    if isinstance(fetch, tuple) and hasattr(fetch, "_fields"):
        fields, make = each(fetch), type(fetch)
        return lambda found: make(*(build(found) for build in fields))
    if isinstance(fetch, list | tuple):
        parts, sequence = each(fetch), type(fetch)
        return lambda found: sequence(build(found) for build in parts)
    if isinstance(fetch, indexed_slices.IndexedSlices):
        return _slices(fetch, graph, tensors, targets)
    if isinstance(fetch, sparse_tensor.SparseTensor):
        arrays = each([fetch.indices, fetch.values, fetch.dense_shape])
        return lambda found: sparse_tensor.SparseTensorValue(*(build(found) for build in arrays))
    if isinstance(fetch, composite.Composite):
        components = each(fetch._parts())
        return lambda found: fetch._fetched([build(found) for build in components])
    if nest.is_attrs(fetch):
        values = each([part for _, part in nest.items(fetch) or ()])
        return lambda found: type(fetch)(*(build(found) for build in values))
    expansion = expansions.find(fetch)
    if expansion is None:
        return _single(fetch, graph, tensors, targets)
    expanded, contract = expansion.fetch(fetch)
    elements = each(expanded)
    return lambda found: contract([build(found) for build in elements])


def _single(
    fetch: Any,
    graph: graphs.Graph,
    tensors: dict[graphs.Tensor, None],
    targets: dict[graphs.Operation, None],
) -> Rebuild:
    element = _element(fetch, graph)
    if isinstance(element, graphs.Operation):
        targets[element] = None
        return lambda found: None
    tensors[element] = None
    return lambda found: found[element]


def _factory(fetch: dict[Any, Any]) -> tuple[Any, ...]:
    """Return the arguments that create an empty dictionary of the class of `fetch`."""
    return (fetch.default_factory,) if isinstance(fetch, collections.defaultdict) else ()


def _filled(empty: dict[Any, Any], items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    empty.update(items)
    return empty


def _slices(
    fetch: indexed_slices.IndexedSlices,
    graph: graphs.Graph,
    tensors: dict[graphs.Tensor, None],
    targets: dict[graphs.Operation, None],
) -> Rebuild:
    values = _walk(fetch.values, graph, tensors, targets)
    indices = _walk(fetch.indices, graph, tensors, targets)
    if fetch.dense_shape is None:
        return lambda found: indexed_slices.IndexedSlicesValue(values(found), indices(found), None)
    shape = _walk(fetch.dense_shape, graph, tensors, targets)
    return lambda found: indexed_slices.IndexedSlicesValue(
        values(found), indices(found), shape(found)
    )


def _element(fetch: Any, graph: graphs.Graph) -> Any:
    try:
        element = graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
    except TypeError as fault:
        raise TypeError(
            f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}, "
            f"must be a string or Tensor. ({fault})"
        ) from None
    except ValueError as fault:
        raise ValueError(
            f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({fault})"
        ) from None
    except KeyError as fault:
        raise ValueError(
            f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({fault})"
        ) from None
    if not graph.is_fetchable(element):
        raise ValueError(
            f"{element!r} has been marked as not fetchable: it is in one branch of a conditional "
            "or in the body of a loop; fetch the result of tf.cond or tf.while_loop instead"
        )
    return element
