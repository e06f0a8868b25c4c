"""`tf.data.Iterator` (python/data/ops/iterator_ops.py)."""

from typing import Any

from capstan.api import data_base, data_structure
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

GLOBAL_ITERATORS = "iterators"
"""The collection of the handles of all iterators."""


class Iterator(data_base.Structured):
    """A position in a dataset. A step takes at most one element, however many nodes read it."""

    def __init__(
        self,
        iterator_resource: Any,
        initializer: Any,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any = None,
    ) -> None:
        """Programs call the methods of a dataset, `from_structure` or `from_string_handle`."""
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._spec = data_structure.from_legacy(output_types, output_shapes, output_classes)
        self._string_handle = raw.IteratorToStringHandle(iterator_resource)
        graphs.get_default_graph().add_to_collection(GLOBAL_ITERATORS, iterator_resource)

    @classmethod
    def _of(cls, iterator_resource: Any, initializer: Any, spec: Any) -> "Iterator":
        made = cls(iterator_resource, initializer, dtypes.int32, None)
        made._spec = spec
        return made

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> "Iterator":
        """Return an iterator without a dataset. `make_initializer` gives it one.

        Raises:
            TypeError, ValueError: the shapes have another structure than the types.
        """
        spec = data_structure.from_legacy(output_types, output_shapes, output_classes)
        resource = raw.IteratorV2(
            container="", shared_name=shared_name or "", **data_structure.flat(spec)
        )
        return Iterator._of(resource, None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> "Iterator":
        """Return the iterator whose string handle is the value of a tensor in each step.

        Raises:
            TypeError, ValueError: the shapes have another structure than the types.
        """
        spec = data_structure.from_legacy(output_types, output_shapes, output_classes)
        handle = convert.convert_to_tensor(string_handle, dtypes.string)
        resource = raw.IteratorFromStringHandleV2(handle, **data_structure.flat(spec))
        return Iterator._of(resource, None, spec)

    @property
    def initializer(self) -> Any:
        """The operation that begins the dataset again.

        Raises:
            ValueError: the iterator has no initializer of its own.
        """
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """Return an operation that begins a pass over `dataset`.

        Raises:
            TypeError, ValueError: the elements of `dataset` do not fit the iterator.
        """
        found = dataset._spec
        data_structure.check_same(self._spec, found)
        wanted, given = (
            data_structure.flatten(data_structure.legacy_types(each))
            for each in (self._spec, found)
        )
        if wanted != given:
            raise TypeError(
                f"Expected output types {self.output_types!r} but got dataset with output types "
                f"{data_structure.legacy_types(found)!r}."
            )
        sizes = zip(data_structure.shapes(self._spec), data_structure.shapes(found), strict=True)
        if not all(mine.is_compatible_with(theirs) for mine, theirs in sizes):
            raise TypeError(
                f"Expected output shapes compatible with {self.output_shapes!r} but got dataset "
                f"with output shapes {data_structure.legacy_shapes(found)!r}."
            )
        graph = graphs.get_default_graph()
        with (
            graph.name_scope(name or "make_initializer") as scope,
            graph.colocate_with(self._iterator_resource.op),
        ):
            return raw.MakeIterator(
                dataset._variant_tensor, self._iterator_resource, name=scope or name
            )

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element.

        A step that runs the tensors waits until the element is there. At the end of the dataset it
        raises OutOfRangeError.
        """
        graph = graphs.get_default_graph()
        with graph.colocate_with(self._iterator_resource.op):
            values = raw.IteratorGetNext(
                self._iterator_resource, name=name, **data_structure.flat(self._spec)
            )
            return data_structure.element(self._spec, values)

    def string_handle(self, name: str | None = None) -> Any:
        """Return a string tensor that stands for the iterator, for `from_string_handle`."""
        if name is None:
            return self._string_handle
        return raw.IteratorToStringHandle(self._iterator_resource, name=name)
