"""The inputs of a strategy with one replica, and the outputs of a loop over steps.

Source: tensorflow/python/distribute/input_lib.py.
"""

import enum
from collections.abc import Callable
from typing import Any

from capstan.api import dataset, distribution_modes
from capstan.framework import grouping


class InputReplicationMode(enum.Enum):
    """How often an input function is called: once for each worker."""

    PER_WORKER = "PER_WORKER"


class InputContext:
    """Tells an input function which part of the input it makes. Never changes."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that train in step."""
        return self._num_replicas_in_sync

    @property
    def input_pipeline_id(self) -> int:
        """The number of this input, from 0."""
        return self._input_pipeline_id

    @property
    def num_input_pipelines(self) -> int:
        """The number of inputs."""
        return self._num_input_pipelines

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the part of a batch that one replica gets.

        Raises:
            ValueError: the replicas cannot get equal parts.
        """
        size, rest = divmod(global_batch_size, self._num_replicas_in_sync)
        if rest:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by "
                f"`num_replicas_in_sync` {self._num_replicas_in_sync!r} "
            )
        return size


class DatasetIterator:
    """The elements of a dataset, for the only replica."""

    def __init__(self, source: dataset.Dataset) -> None:
        self._iterator = source.make_initializable_iterator()

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element. A step fails with OutOfRangeError after the last one."""
        return self._iterator.get_next(name)

    def initialize(self) -> Any:
        """Return the operation that starts the iterator from the beginning. Run it first."""
        return self._iterator.initializer

    @property
    def initializer(self) -> Any:
        """The operation that `initialize` returns."""
        return self._iterator.initializer

    @property
    def output_classes(self) -> Any:
        """The classes of the components of an element."""
        return self._iterator.output_classes

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components of an element."""
        return self._iterator.output_shapes

    @property
    def output_types(self) -> Any:
        """The dtypes of the components of an element."""
        return self._iterator.output_types


class FunctionIterator:
    """The results of a function without arguments, one for each call of `get_next`."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def get_next(self, name: str | None = None) -> Any:
        """Call the function. The name has no effect."""
        return self._function()

    def initialize(self) -> Any:
        """Return an operation that does nothing."""
        return grouping.no_op()

    @property
    def initializer(self) -> Any:
        """An operation that does nothing."""
        return self.initialize()


def iterator_of(source: Any) -> DatasetIterator | FunctionIterator:
    """Return an iterator over what an input function has returned.

    Raises:
        ValueError: `source` is neither a dataset nor a function.
    """
    if isinstance(source, dataset.Dataset):
        return DatasetIterator(source)
    if callable(source):
        return FunctionIterator(source)
    raise ValueError("input_fn must return a tf.data.Dataset or a callable.")


class MultiStepContext:
    """Takes the outputs of the steps of `experimental_run_steps_on_iterator`.

    `run_op` runs all steps.
    """

    def __init__(self) -> None:
        self.run_op: Any = None
        self._last_step_outputs: dict[str, Any] = {}
        self._non_tensor_outputs: dict[str, Any] = {}

    @property
    def last_step_outputs(self) -> dict[str, Any]:
        """The outputs of the last step, by name."""
        return self._last_step_outputs

    def map_outputs(self, function: Callable[[Any], Any]) -> None:
        """Replace each output by `function(output)`."""
        outputs = self._last_step_outputs
        self._last_step_outputs = {name: function(outputs[name]) for name in outputs}

    def keep(self, outputs: dict[str, Any]) -> None:
        """Take the outputs of the loop in the place of those of its body."""
        self._last_step_outputs = outputs

    def set_last_step_output(self, name: str, output: Any, reduce_op: Any = None) -> None:
        """Take an output of this step, reduced over the replicas if `reduce_op` is given.

        A replica must say how outputs are reduced.

        Raises:
            ValueError: a replica gives no `reduce_op`.
        """
        mode = distribution_modes.current()
        if mode is not None and mode.replica is None:
            if reduce_op is not None:
                output = mode.strategy.reduce(reduce_op, output)
            self._last_step_outputs[name] = output
            return
        if reduce_op is None:
            raise ValueError(f"Give a reduce_op for the output {name!r} of a replica.")
        if mode is None:
            self._last_step_outputs[name] = output
            return

        def merged(strategy: Any, value: Any) -> None:
            self._last_step_outputs[name] = strategy.reduce(reduce_op, value)

        mode.replica.merge_call(merged, (output,))

    @property
    def non_tensor_outputs(self) -> dict[str, Any]:
        """The outputs that are not tensors, by name."""
        return self._non_tensor_outputs

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Take an output that is not a tensor. Those of replicas become a tuple."""
        mode = distribution_modes.current()
        if mode is None or mode.replica is None:
            is_for_all = mode is not None
            self._non_tensor_outputs[name] = output if is_for_all else (output,)
            return

        def merged(strategy: Any, value: Any) -> None:
            self._non_tensor_outputs[name] = strategy.extended.local_results(value)

        mode.replica.merge_call(merged, (output,))
