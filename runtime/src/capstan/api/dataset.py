"""`tf.data.Dataset` (python/data/ops/dataset_ops.py)."""

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.api import (
    control_flow_ops,
    data_functions,
    data_generator,
    data_iterators,
    data_padding,
    data_structure,
)
from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import convert, random_seed
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """A component that is a dataset."""

    element_spec: Any

    @property
    def dtype(self) -> dtypes.DType:
        return dtypes.variant

    @property
    def shape(self) -> tensor_shape.TensorShape:
        return tensor_shape.TensorShape([])

    @property
    def legacy_class(self) -> builtins.type:
        return Dataset

    def unpacked(self, tensor: Any) -> "Dataset":
        return Dataset(tensor, self.element_spec)


class Dataset:
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

    @property
    def _dataset_spec(self) -> DatasetSpec:
        return DatasetSpec(self._spec)

    @property
    def output_types(self) -> Any:
        """The type of each component, in the structure of an element."""
        return data_structure.legacy_types(self._spec)

    @property
    def output_shapes(self) -> Any:
        """The shape of each component, in the structure of an element."""
        return data_structure.legacy_shapes(self._spec)

    @property
    def output_classes(self) -> Any:
        """The class of each component, in the structure of an element."""
        return data_structure.legacy_classes(self._spec)

    # --- sources

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
        flat = data_structure.tensors(element)
        first = flat[0].shape.with_rank_at_least(1)[0]
        for tensor in flat[1:]:
            first.assert_is_compatible_with(tensor.shape.with_rank_at_least(1)[0])
        spec = data_structure.mapped(
            lambda tensor: data_structure.TensorSpec(tensor.dtype.base_dtype, tensor.shape[1:]),
            element,
        )
        made = raw.TensorSliceDataset(flat, output_shapes=data_structure.shapes(spec))
        return Dataset(made, spec)

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
        spec = data_structure.TensorSpec(dtypes.int64, tensor_shape.TensorShape([]))
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
            TypeError: a leaf of `datasets` is no dataset.
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
            return files.shuffle(buffer_size, seed=seed)
        return files

    # --- transformations without functions

    def _unary(self, op: str, *inputs: Any, spec: Any = None, **attrs: Any) -> "Dataset":
        spec = self._spec if spec is None else spec
        return made(op, spec, self._variant_tensor, *inputs, **attrs)

    def repeat(self, count: Any = None) -> "Dataset":
        """Return the elements `count` times, or without end if `count` is None or -1."""
        return self._unary("RepeatDataset", int64(-1 if count is None else count, "count"))

    def take(self, count: Any) -> "Dataset":
        """Return the first `count` elements, or all if `count` is -1."""
        return self._unary("TakeDataset", int64(count, "count"))

    def skip(self, count: Any) -> "Dataset":
        """Return the elements after the first `count`, or none if `count` is -1."""
        return self._unary("SkipDataset", int64(count, "count"))

    def shard(self, num_shards: Any, index: Any) -> "Dataset":
        """Return every element whose number modulo `num_shards` is `index`."""
        shards, place = int64(num_shards, "num_shards"), int64(index, "index")
        return self._unary("ShardDataset", shards, place)

    def concatenate(self, dataset: "Dataset") -> "Dataset":
        """Return the elements of this dataset and then those of `dataset`.

        Raises:
            TypeError, ValueError: the elements have other types or another structure.
        """
        mine, theirs = self._spec, dataset._spec
        if data_structure.types(mine) != data_structure.types(theirs):
            raise TypeError(
                "Two datasets to concatenate have different types "
                f"{self.output_types} and {dataset.output_types}"
            )
        if self.output_classes != dataset.output_classes:
            raise TypeError(
                "Two datasets to concatenate have different classes "
                f"{self.output_classes} and {dataset.output_classes}"
            )
        common = iter(
            tensor_shape.TensorShape(shapes.most_general(one.internal, other.internal))
            for one, other in builtins.zip(
                data_structure.shapes(mine), data_structure.shapes(theirs), strict=True
            )
        )
        spec = data_structure.mapped(lambda leaf: _with_shape(leaf, next(common)), mine)
        return self._unary("ConcatenateDataset", dataset._variant_tensor, spec=spec)

    def prefetch(self, buffer_size: Any) -> "Dataset":
        """Let a thread make up to `buffer_size` elements ahead of the steps.

        -1 (`tf.data.experimental.AUTOTUNE`) leaves the number to Capstan.
        """
        size = -1 if buffer_size is None else buffer_size
        return self._unary("PrefetchDataset", int64(size, "buffer_size"))

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = None,
    ) -> "Dataset":
        """Return the elements in random order: each is drawn from a buffer of `buffer_size`.

        With `reshuffle_each_iteration`, the default, each epoch of a `repeat` has another order.
        """
        return self._unary(
            "ShuffleDataset",
            int64(buffer_size, "buffer_size"),
            *seeds(seed),
            reshuffle_each_iteration=reshuffle_each_iteration in (None, True),
        )

    def cache(self, filename: Any = "") -> "Dataset":
        """Keep the elements of the first complete pass in memory, for the later epochs.

        A cache in a file is not supported: with a `filename`, the initializer fails with
        InvalidArgumentError.
        """
        name = convert.convert_to_tensor(filename, dtypes.string, name="filename")
        return self._unary("CacheDataset", name)

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> "Dataset":
        """Stack `batch_size` consecutive elements along a new axis 0.

        The last batch is smaller if elements are missing. With `drop_remainder`, it is dropped.
        """
        size = int64(batch_size, "batch_size")
        drop = convert.convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder")
        count = _static(size) if _static(drop) else None
        spec = data_structure.mapped(lambda leaf: _stacked(leaf, count), self._spec)
        return self._unary("BatchDatasetV2", size, drop, spec=spec)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
    ) -> "Dataset":
        """Stack elements as `batch` does, after padding each component to one shape.

        `padded_shapes` has the structure of an element. An unknown size becomes the largest size
        in the batch. `padding_values` are scalars: by default 0 and empty strings.
        """
        return Dataset(
            *data_padding.padded_batch(
                self, batch_size, padded_shapes, padding_values, drop_remainder
            )
        )

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False
    ) -> "Dataset":
        """Return windows: datasets of `size` elements, one dataset for each component.

        A window begins `shift` elements (by default `size`) after the one before, and has every
        element number `stride`.
        """
        spec = data_structure.mapped(DatasetSpec, self._spec)
        return self._unary(
            "WindowDataset",
            int64(size, "size"),
            int64(size if shift is None else shift, "shift"),
            int64(stride, "stride"),
            convert.convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder"),
            spec=spec,
        )

    def unbatch(self) -> "Dataset":
        """Return the slices of each component along axis 0 as elements."""
        spec = data_structure.mapped(
            lambda leaf: _with_shape(leaf, leaf.shape.with_rank_at_least(1)[1:]), self._spec
        )
        return self._unary("UnbatchDataset", spec=spec)

    def enumerate(self, start: int = 0) -> "Dataset":
        """Return pairs of a number, counted from `start`, and an element."""
        return Dataset.zip((Dataset.range(start, np.iinfo(np.int64).max), self))

    # --- transformations with functions

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> "Dataset":
        """Return `map_func(element)` for each element, in order.

        If an element is a tuple, `map_func` gets its parts as arguments. It is called once, with
        tensors, and becomes a function of the graph. With `num_parallel_calls`, this number of
        calls run at the same time. If an operation raises OutOfRangeError, the dataset ends.
        """
        traced = self._traced(map_func, "Dataset.map()")
        if num_parallel_calls is None:
            return self._calling("MapDataset", traced)
        calls = convert.convert_to_tensor(
            num_parallel_calls, dtypes.int32, name="num_parallel_calls"
        )
        return self._calling("ParallelMapDataset", traced, calls)

    def filter(self, predicate: Callable[..., Any]) -> "Dataset":
        """Return the elements for which `predicate(element)` is true.

        Raises:
            ValueError: `predicate` does not return a scalar bool.
        """
        traced = self._traced(predicate, "Dataset.filter()")
        data_functions.check_predicate(traced.spec)
        return made(
            "FilterDataset",
            self._spec,
            self._variant_tensor,
            traced.captured,
            predicate=traced.reference,
        )

    def flat_map(self, map_func: Callable[..., Any]) -> "Dataset":
        """Return the elements of the datasets `map_func(element)`, one dataset after the other.

        Raises:
            TypeError: `map_func` does not return a dataset.
        """
        return self._flat("FlatMapDataset", map_func, "Dataset.flat_map()")

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> "Dataset":
        """Return `block_length` elements of each of the datasets `map_func(element)` in turn.

        `cycle_length` datasets are open at a time. `num_parallel_calls` does not change the order.

        Raises:
            TypeError: `map_func` does not return a dataset.
        """
        inputs = [int64(cycle_length, "cycle_length"), int64(block_length, "block_length")]
        if num_parallel_calls is None:
            return self._flat("InterleaveDataset", map_func, "Dataset.interleave()", *inputs)
        calls = int64(num_parallel_calls, "num_parallel_calls")
        name = "ParallelInterleaveDatasetV2"
        return self._flat(name, map_func, "Dataset.interleave()", *inputs, calls)

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """Return the last state of `reduce_func(state, element)`, as tensors.

        Raises:
            TypeError, ValueError: `reduce_func` returns another structure or other types than
                `initial_state`.
        """
        state = data_structure.converted(initial_state, "initial_state")
        spec = data_structure.spec_of(state)
        while True:
            traced = data_functions.trace(reduce_func, "Dataset.reduce()", spec, self._spec)
            check_state(spec, traced.spec, "reduce_func")
            general = relaxed(spec, traced.spec)
            if general == spec:
                break
            spec = general
        values = raw.ReduceDataset(
            self._variant_tensor,
            data_structure.tensors(state),
            traced.captured,
            f=traced.reference,
            **data_structure.flat(spec),
        )
        return data_structure.element(spec, values)

    def apply(self, transformation_func: Callable[["Dataset"], "Dataset"]) -> "Dataset":
        """Return `transformation_func(self)`.

        Raises:
            TypeError: the function returns no dataset.
        """
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError("`transformation_func` must return a Dataset.")
        return dataset

    def options(self) -> "Options":
        """Return the options of the dataset, which change nothing in Capstan."""
        return Options()

    def with_options(self, options: "Options") -> "Dataset":
        """Return the dataset. Options tune how TensorFlow runs a dataset, not its elements."""
        return self._unary("OptionsDataset", serialized_options=b"")

    def _traced(self, func: Callable[..., Any], transformation: str) -> data_functions.Traced:
        return data_functions.trace(func, transformation, self._spec)

    def _calling(self, op: str, traced: data_functions.Traced, *inputs: Any) -> "Dataset":
        tensors = [self._variant_tensor, traced.captured, *inputs]
        return made(op, traced.spec, *tensors, f=traced.reference)

    def _flat(
        self, op: str, func: Callable[..., Any], transformation: str, *inputs: Any, **attrs: Any
    ) -> "Dataset":
        traced = self._traced(func, transformation)
        if not isinstance(traced.spec, DatasetSpec):
            raise TypeError(
                f"`map_func` must return a `Dataset` object. Got {builtins.type(traced.result)}"
            )
        spec = traced.spec.element_spec
        tensors = [self._variant_tensor, traced.captured, *inputs]
        return made(op, spec, *tensors, f=traced.reference, **attrs)

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


class Options:
    """Options that tune how TensorFlow runs a dataset. Capstan accepts any, and ignores them."""


def made(op: str, spec: Any, *inputs: Any, **attrs: Any) -> Dataset:
    """Return the dataset of an op whose elements have the structure `spec`."""
    return Dataset(getattr(raw, op)(*inputs, **data_structure.flat(spec), **attrs), spec)


def int64(value: Any, name: str) -> Any:
    """Return a parameter of a dataset as a tensor."""
    return convert.convert_to_tensor(value, dtypes.int64, name=name)


def seeds(seed: Any) -> tuple[Any, Any]:
    """Return the two seeds of a random transformation as tensors. Two zeros stand for no seed."""
    first, second = random_seed.get_seed(seed)
    return int64(first or 0, "seed"), int64(second or 0, "seed2")


def _static(tensor: Any) -> Any:
    value = tensor.op.constant_value()
    return None if value is None else value.item()


def _with_shape(leaf: Any, shape: tensor_shape.TensorShape) -> Any:
    return data_structure.TensorSpec(leaf.dtype, shape)


def _stacked(leaf: Any, count: int | None) -> Any:
    return _with_shape(leaf, tensor_shape.TensorShape([count]).concatenate(leaf.shape))


def check_state(spec: Any, found: Any, name: str) -> None:
    """Check that a function of a state returns a state of the same structure and types.

    Raises:
        TypeError, ValueError: it does not.
    """
    data_structure.check_same(spec, found)
    wanted, given = map(data_structure.types, (spec, found))
    if wanted != given:
        raise TypeError(
            f"The element types for the new state must match the initial state. Expected {wanted}; "
            f"got {given}."
        )


def relaxed(spec: Any, found: Any) -> Any:
    """Return `spec` with the most specific shapes that fit both structures."""
    others = iter(data_structure.shapes(found))
    return data_structure.mapped(
        lambda leaf: _with_shape(
            leaf,
            tensor_shape.TensorShape(
                shapes.most_general(leaf.shape.internal, next(others).internal)
            ),
        ),
        spec,
    )
