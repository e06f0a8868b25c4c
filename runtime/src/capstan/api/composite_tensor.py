"""`python.framework.composite_tensor`: the class of values that are made of several tensors."""

import abc

from capstan.framework import composite, indexed_slices, sparse_tensor


class CompositeTensor(abc.ABC):  # noqa: B024  # its classes are registered below
    """The class of IndexedSlices, SparseTensor and RaggedTensor, for `isinstance`.

    A program may derive classes, but their values are no tensors for sessions, loops and layers.
    """


CompositeTensor.register(indexed_slices.IndexedSlices)
CompositeTensor.register(sparse_tensor.SparseTensor)
CompositeTensor.register(composite.Composite)  # type: ignore[type-abstract]
