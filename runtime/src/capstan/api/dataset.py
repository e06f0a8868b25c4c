"""`tf.data.Dataset` (python/data/ops/dataset_ops.py)."""

import builtins
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from capstan.api import (
    control_flow_ops,
    data_base,
    data_batches,
    data_calls,
    data_functions,
    data_generator,
    data_iterators,
    data_options,
    data_order,
    data_stats,
    data_structure,
)
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework import sparse_tensor as sparse_tensors
from capstan.framework.raw import raw


class Dataset(data_order.Ordering, data_batches.Batching, data_calls.Calling):
    """A sequence of elements, and how to make them.

    An element is a tensor, or a tuple, namedtuple or dict of elements, nested to any depth. Every
    method returns a new dataset. An iterator gives the elements to steps.
    """

    def __init__(self, variant_tensor: Any, spec: Any) -> None:
        """Programs call the static methods and the methods instead."""
        self._variant_tensor = variant_tensor
        self._spec = spec

    def __repr__(self) -> str:
        return f"<DatasetV1Adapter shapes: {self.output_shapes}, types: {self.output_types}>"

    def __iter__(self) -> NoReturn:
        raise RuntimeError(
            "__iter__() is only supported inside of tf.function. In a graph, fetch the tensor "
            "dataset.make_one_shot_iterator().get_next() in each step until OutOfRangeError"
        )

    @property
    def _component_spec(self) -> data_base.DatasetSpec:
        return data_base.DatasetSpec(self._spec)

    _dataset_spec = _component_spec

    @staticmethod
    def from_tensors(tensors: Any) -> "Dataset":
        """Return a dataset with one element, which has the values of `tensors`."""
        element = data_structure.converted(tensors)
        spec = data_structure.spec_of(element)
        tensor = raw.TensorDataset(
            data_structure.tensors(element), output_shapes=data_structure.shapes(spec)
        )
        return Dataset(tensor, spec)

    @staticmethod
    def from_tensor_slices(tensors: Any) -> "Dataset":
        """Return a dataset of the slices of `tensors` along axis 0.

        Raises:
            ValueError: a tensor has no axis, or the sizes of axis 0 differ.
        """
        element = data_structure.converted(tensors)
        stacked = data_structure.spec_of(element)
        spec = data_structure.mapped(lambda leaf: leaf.sliced(), stacked)
        sizes = [leaf.shape.with_rank_at_least(1)[0] for leaf in data_structure.flatten(stacked)]
        for size in sizes[1:]:
            sizes[0].assert_is_compatible_with(size)
        flat = data_structure.stacked_tensors(element)
        made = raw.TensorSliceDataset(flat, output_shapes=data_structure.shapes(spec))
        return Dataset(made, spec)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> "Dataset":
        """Return the slices of a SparseTensor along axis 0, each as indices, values and a shape.

        `from_tensor_slices` returns the slices as SparseTensors.

        Raises:
            TypeError: `sparse_tensor` is not a SparseTensor.
        """
        if not isinstance(sparse_tensor, sparse_tensors.SparseTensor):
            raise TypeError(
                f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {sparse_tensor}."
            )
        slices = Dataset.from_tensor_slices(sparse_tensor)
        parts: Dataset = slices.map(lambda each: (each.indices, each.values, each.dense_shape))
        return parts

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any,
        output_shapes: Any = None,
        args: Any = None,
    ) -> "Dataset":
        """Return a dataset of the values that `generator(*args)` yields, converted to tensors.

        `generator` returns an object that supports `iter`. Each pass calls `generator` once, in the
        process that builds the graph. It gets the values of the tensors `args` as NumPy arrays.

        Raises:
            TypeError: `generator` is not callable.
        """
        return Dataset(*data_generator.dataset(generator, output_types, output_shapes, args))

    @staticmethod
    def range(*args: Any) -> "Dataset":
        """Return the integers of Python's `range(*args)` as int64.

        Raises:
            ValueError: there are no arguments, or more than three.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        bounds = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        spec = data_structure.TensorSpec([], dtypes.int64)
        start, stop, step = (
            convert.convert_to_tensor(bound, dtypes.int64, name=name)
            for bound, name in builtins.zip(bounds, ("start", "stop", "step"), strict=True)
        )
        return Dataset(raw.RangeDataset(start, stop, step, **data_structure.flat(spec)), spec)

    @staticmethod
    def zip(datasets: Any) -> "Dataset":
        """Return a dataset whose elements have the structure of `datasets`.

        It ends when one of the datasets ends.

        Raises:
            TypeError: a leaf of `datasets` is not a dataset.
        """
        leaves = data_structure.flatten(datasets)
        for leaf in leaves:
            if not isinstance(leaf, Dataset):
                reason = (
                    " Nested structures do not support Python lists; please use a tuple instead."
                )
                raise TypeError(
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` "
                    f"objects.{reason if isinstance(leaf, list) else ''}"
                )
        spec = data_structure.mapped(lambda leaf: leaf._spec, datasets)
        return made("ZipDataset", spec, [leaf._variant_tensor for leaf in leaves])

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None
    ) -> "Dataset":
        """Return the names of the files that match a glob pattern, or one of several patterns.

        The names are in random order unless `shuffle` is false. A step that begins a pass fails
        with InvalidArgumentError if no file matches.
        """
        pattern = convert.convert_to_tensor(file_pattern, dtypes.string, name="pattern")
        names = raw.MatchingFiles(pattern)
        count = raw.Size(names)
        check = control_flow_ops.Assert(
            raw.Greater(count, 0), ["No files matched pattern: ", pattern], name="match_not_empty"
        )
        with graphs.get_default_graph().control_dependencies([check]):
            names = raw.Identity(names)
        files = Dataset.from_tensor_slices(names)
        if shuffle is None or shuffle:
            buffer_size = raw.Maximum(raw.Cast(count, DstT=dtypes.int64), np.int64(1))
            files = files.shuffle(buffer_size, seed=seed)
        return files

    # --- transformations

    def enumerate(self, start: int = 0) -> "Dataset":
        """Return pairs of a number, counted from `start`, and an element."""
        return Dataset.zip((Dataset.range(start, np.iinfo(np.int64).max), self))

    def apply(self, transformation_func: Callable[["Dataset"], "Dataset"]) -> "Dataset":
        """Return `transformation_func(self)`.

        Raises:
            TypeError: the function returns no dataset.
        """
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError("`transformation_func` must return a Dataset.")
        return dataset

    def options(self) -> data_options.Options:
        """Return the options that `with_options` gave to the dataset, or that it was made from.

        A dataset that is made of several datasets, as by `zip`, has no options of theirs.
        """
        return data_options.Options().merge(self._given_options or data_options.Options())

    def with_options(self, options: data_options.Options) -> "Dataset":
        """Return the dataset. Options tune how TensorFlow runs a dataset, not its elements.

        Parts of the dataset report what they measure to `experimental_stats.aggregator`.

        Raises:
            ValueError: an option of the dataset has another value already.
            TypeError: `options` is not a `tf.data.Options`.
        """
        merged = self.options().merge(options)
        changed: Dataset = self._unary("OptionsDataset", serialized_options=b"")
        stats = vars(merged)["experimental_stats"]
        if stats.aggregator is not None:
            measured = data_stats.set_stats_aggregator(
                stats.aggregator, stats.prefix, stats.counter_prefix
            )
            changed = measured(changed)
        changed._given_options = merged
        return changed

    # --- iterators

    def make_one_shot_iterator(self) -> data_iterators.Iterator:
        """Return an iterator that begins by itself, with one pass.

        Raises:
            ValueError: the dataset depends on a placeholder, or on a stateful operation such as a
                variable.
        """
        try:
            factory = data_functions.by_value(self._variant_tensor)
        except ValueError as fault:
            if "Cannot capture a stateful node" not in str(fault):
                raise
            raise ValueError(
                "Failed to create a one-shot iterator for a dataset. "
                "`Dataset.make_one_shot_iterator()` does not support datasets that capture "
                "stateful objects, such as a `Variable` or `LookupTable`. In these cases, use "
                f"`Dataset.make_initializable_iterator()`. (Original error: {fault})"
            ) from None
        with graphs.get_default_graph().colocate_with(self._variant_tensor.op):
            resource = raw.OneShotIterator(
                dataset_factory=factory, **data_structure.flat(self._spec)
            )
            return data_iterators.Iterator._of(resource, None, self._spec)

    def make_initializable_iterator(
        self, shared_name: str | None = None
    ) -> data_iterators.Iterator:
        """Return an iterator whose `initializer` begins a pass.

        Iterators with one `shared_name` on one task are the same, in all sessions.
        """
        with graphs.get_default_graph().colocate_with(self._variant_tensor.op):
            resource = raw.IteratorV2(
                container="", shared_name=shared_name or "", **data_structure.flat(self._spec)
            )
            initializer = raw.MakeIterator(self._variant_tensor, resource)
            return data_iterators.Iterator._of(resource, initializer, self._spec)


data_base.Base._kind = Dataset


def made(op: str, spec: Any, *inputs: Any, **attrs: Any) -> Dataset:
    """Return the dataset of an op whose elements have the structure `spec`."""
    return Dataset(getattr(raw, op)(*inputs, **data_structure.flat(spec), **attrs), spec)
