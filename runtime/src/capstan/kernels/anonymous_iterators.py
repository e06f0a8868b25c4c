"""Kernels of the iterators that only their handles name (core/kernels/data/iterator_ops.cc)."""

from typing import Any

from capstan import errors
from capstan.core import resource_name
from capstan.kernels import datasets, iterators
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import dataset_seeds, iterator, variant
from capstan.resources.dataset import Spec


class _Anonymous(iterator.Iterator):
    """An iterator that only its handle names. The node that made it holds it until its end."""

    def __init__(self, name: Any, spec: Spec, held: "set[_Anonymous]") -> None:
        super().__init__(name, spec)
        self._held = held
        held.add(self)

    def clear(self) -> None:
        """End the iterator."""
        self._held.discard(self)
        self.abandon(errors.NotFoundError(None, None, "The iterator was destroyed"))


def _anonymous(node: NodeContext) -> Function:
    spec, held = datasets.spec_of(node), set[_Anonymous]()
    name = resource_name.of_node(node.name, {}, node.resources.default_container)
    has_deleter = node.op == "AnonymousIteratorV2"

    def make() -> Any:
        made = _Anonymous(name, spec, held)
        return (made, variant.scalar(dataset_seeds.Deleter())) if has_deleter else made

    return make


def _delete(handle: Any, deleter: Any) -> None:
    found = iterators.iterator_in(handle)
    if isinstance(found, _Anonymous):
        found.clear()


for _op in ("AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"):
    register(Kernel(_op, _anonymous))
register(Kernel("DeleteIterator", constantly(_delete)))
