"""The methods of `tf.data.Dataset` that call functions (python/data/ops/dataset_ops.py)."""

from collections.abc import Callable
from typing import Any, Final

from capstan.api import data_base, data_functions, data_structure
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_AUTOTUNE: Final = -1


class Calling(data_base.Base):
    """The transformations that call a function for each element."""

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Any:
        """Return `map_func(element)` for each element, in order.

        If an element is a tuple, `map_func` gets its parts as arguments. It is called once, with
        tensors, and becomes a function of the graph. With `num_parallel_calls`, this number of
        calls run at the same time, and the order stays. If an operation raises OutOfRangeError, the
        dataset ends. The dataset has the types, the static shapes and the structure of the results.

        Raises:
            TypeError: `map_func` returns nothing, or a value that is not an element.
        """
        traced = self._traced(map_func, "Dataset.map()")
        if num_parallel_calls is None:
            return self._calling("MapDataset", traced)
        calls = convert.convert_to_tensor(
            num_parallel_calls, dtypes.int32, name="num_parallel_calls"
        )
        return self._calling("ParallelMapDataset", traced, calls)

    def filter(self, predicate: Callable[..., Any]) -> Any:
        """Return the elements for which `predicate(element)` is true.

        Raises:
            ValueError: `predicate` does not return a scalar bool.
        """
        traced = self._traced(predicate, "Dataset.filter()")
        data_functions.check_predicate(traced.spec)
        return self._unary("FilterDataset", traced.captured, predicate=traced.reference)

    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None
    ) -> Any:
        """Return the dataset that `map` returns."""
        return self.map(map_func, num_parallel_calls)

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Any:
        """Return the dataset that `filter` returns."""
        return self.filter(predicate)

    def flat_map(self, map_func: Callable[..., Any]) -> Any:
        """Return the elements of the datasets `map_func(element)`, one dataset after the other.

        Raises:
            TypeError: `map_func` does not return a dataset.
        """
        return self._flat("FlatMapDataset", map_func, "Dataset.flat_map()")

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = _AUTOTUNE,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> Any:
        """Return `block_length` elements of each of the datasets `map_func(element)` in turn.

        `cycle_length` datasets are open at a time. The default is the number of processors.
        `num_parallel_calls` does not change the order.

        Raises:
            TypeError: `map_func` does not return a dataset.
        """
        inputs = [
            data_base.int64(cycle_length, "cycle_length"),
            data_base.int64(block_length, "block_length"),
        ]
        if num_parallel_calls is None:
            return self._flat("InterleaveDataset", map_func, "Dataset.interleave()", *inputs)
        calls = data_base.int64(num_parallel_calls, "num_parallel_calls")
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
            data_base.check_state(spec, traced.spec, "reduce_func")
            general = data_base.relaxed(spec, traced.spec)
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

    def _scan(self, initial_state: Any, scan_func: Callable[[Any, Any], Any]) -> Any:
        """Return the outputs of `scan_func(state, element)`, as `tf.data.experimental.scan`.

        Raises:
            TypeError, ValueError: the next state has another structure or other types.
        """
        state = data_structure.converted(initial_state, "initial_state")
        spec = data_structure.spec_of(state)
        while True:
            traced = data_functions.trace(scan_func, "scan()", spec, self._spec)
            if not isinstance(traced.spec, tuple) or len(traced.spec) != 2:
                raise TypeError("The scan function must return a pair: the new state, the output.")
            following, output = traced.spec
            data_base.check_state(spec, following, "scan_func")
            general = data_base.relaxed(spec, following)
            if general == spec:
                break
            spec = general
        tensors = data_structure.tensors(state)
        options = {"spec": output, "f": traced.reference, "preserve_cardinality": True}
        return self._unary("ScanDataset", tensors, traced.captured, **options)

    def _map_and_batch(
        self, map_func: Callable[..., Any], size: Any, calls: Any, drop_remainder: Any
    ) -> Any:
        """Return batches of `size` results of `map_func`, as `tf.data.experimental.map_and_batch`.

        `calls` calls run at the same time.
        """
        traced = self._traced(map_func, "map_and_batch()")
        size = data_base.int64(size, "batch_size")
        drop = convert.convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder")
        count = data_base.static(size) if data_base.static(drop) else None
        spec = data_structure.mapped(lambda leaf: leaf.batched(count), traced.spec)
        calls = data_base.int64(calls, "num_parallel_calls")
        inputs = (traced.captured, size, calls, drop)
        options = {"spec": spec, "f": traced.reference, "preserve_cardinality": True}
        return self._unary("MapAndBatchDataset", *inputs, **options)

    def _take_while(self, predicate: Callable[..., Any]) -> Any:
        """Return the elements before the first whose `predicate` is false.

        Raises:
            ValueError: `predicate` does not return a scalar bool.
        """
        traced = self._traced(predicate, "take_while()")
        data_functions.check_predicate(traced.spec)
        return self._unary("TakeWhileDataset", traced.captured, predicate=traced.reference)

    def _traced(self, func: Callable[..., Any], transformation: str) -> data_functions.Traced:
        return data_functions.trace(func, transformation, self._spec)

    def _calling(self, op: str, traced: data_functions.Traced, *inputs: Any) -> Any:
        return self._unary(op, traced.captured, *inputs, spec=traced.spec, f=traced.reference)

    def _flat(self, op: str, func: Callable[..., Any], transformation: str, *inputs: Any) -> Any:
        traced = self._traced(func, transformation)
        if not isinstance(traced.spec, data_base.DatasetSpec):
            raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(traced.result)}")
        spec = traced.spec.element_spec
        return self._unary(op, traced.captured, *inputs, spec=spec, f=traced.reference)
