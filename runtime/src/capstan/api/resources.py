"""The resources of the default graph that must be created before they are used.

They are not variables, for example the trees of a model. Source: python/ops/resources.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from capstan.core import dtypes
from capstan.framework import collections, convert, grouping
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_Keys = collections.GraphKeys


class Resource(NamedTuple):
    """A handle, the operation that creates its resource, and a tensor: whether it exists."""

    handle: graphs.Tensor
    create: graphs.Operation
    is_initialized: graphs.Tensor


def register_resource(
    handle: graphs.Tensor,
    create_op: graphs.Operation,
    is_initialized_op: graphs.Tensor,
    is_shared: bool = True,
) -> None:
    """Add a resource to its graph. If `is_shared`, all tasks use it; else only this one."""
    key = _Keys.RESOURCES if is_shared else _Keys.LOCAL_RESOURCES
    handle.graph.add_to_collection(key, Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Resource]:
    """Return the resources of the default graph that all tasks share."""
    return graphs.get_default_graph().get_collection(_Keys.RESOURCES)


def local_resources() -> list[Resource]:
    """Return the resources of the default graph that belong to this task alone."""
    return graphs.get_default_graph().get_collection(_Keys.LOCAL_RESOURCES)


def initialize_resources(resource_list: Sequence[Resource], name: str = "init") -> Any:
    """Return an operation that creates the resources."""
    return grouping.group(*(resource.create for resource in resource_list), name=name)


def report_uninitialized_resources(
    resource_list: Sequence[Resource] | None = None, name: str = "report_uninitialized_resources"
) -> graphs.Tensor:
    """Return a string vector with the names of the handles whose resources do not exist yet.

    The default for `resource_list` is all shared and local resources.
    """
    if resource_list is None:
        resource_list = [*shared_resources(), *local_resources()]
    graph = graphs.get_default_graph()
    with graph.name_scope(name), graph.device("/cpu:0"):
        if not resource_list:
            return convert.constant([], dtypes.string)
        names = convert.constant([resource.handle.name for resource in resource_list])
        is_missing = raw.LogicalNot(raw.Pack([each.is_initialized for each in resource_list]))
        missing = raw.Squeeze(raw.Where(is_missing), squeeze_dims=[1])
        missing_names: graphs.Tensor = raw.Gather(names, missing)
        return missing_names
