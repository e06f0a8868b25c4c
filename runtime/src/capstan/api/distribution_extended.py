"""`strategy.extended`: the parts of a strategy that libraries use. Here there is one replica.

Source: tensorflow/python/distribute/{distribute_lib,one_device_strategy}.py of 2019.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from capstan.api import (
    array_ops,
    context,
    distribution_inputs,
    distribution_modes,
    nest,
    numpy_inputs,
    variable_creation,
    while_ops,
)
from capstan.api import distribution_replica as replicas
from capstan.framework import convert, grouping

Arguments = Sequence[Any]
Keywords = Mapping[str, Any] | None


class StrategyExtended:
    """The parts for libraries. `device` is the device of the replica, or None for any device.

    The methods build the graph for all replicas. A call in a replica, or in the scope of another
    strategy, raises RuntimeError.
    """

    experimental_require_static_shapes = False
    experimental_between_graph = False
    experimental_should_init = True
    should_checkpoint = True
    should_save_summary = True
    allows_partitions = False
    """Whether partitioners cut variables in the scope."""

    def __init__(self, container_strategy: Any, device: str | None = None) -> None:
        self._strategy = container_strategy
        self._device = device

    @property
    def default_device(self) -> str | None:
        """The device of operations without one in the scope of the strategy, or None for any."""
        return None

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that train in step."""
        return 1

    def local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the values of all replicas."""
        return (value,)

    def input_context(self) -> distribution_inputs.InputContext:
        """Return what an input function learns about its part of the input."""
        return distribution_inputs.InputContext(num_replicas_in_sync=self.num_replicas_in_sync)

    @property
    def replica_numbers(self) -> tuple[int, ...]:
        """The numbers of the replicas in this graph among all replicas."""
        return tuple(range(self.num_replicas_in_sync))

    def split_inputs(self, dataset: Any) -> Any:
        """Return an iterator over a dataset, whose batches are divided among the replicas."""
        return distribution_inputs.DatasetIterator(dataset)

    def inputs_of(self, source: Any) -> Any:
        """Return an iterator over what an input function has returned."""
        return distribution_inputs.iterator_of(source)

    def distributed_dataset(self, dataset: Any, is_split: bool) -> Any:
        """Return a dataset, whose batches are divided if `is_split`, or go to replicas in turn."""
        return dataset

    def update_config(self, config_proto: Any) -> None:
        """Change the settings of a session as the strategy needs."""

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """Return what `Strategy.experimental_make_numpy_dataset` returns."""
        return numpy_inputs.dataset_of(numpy_input, session)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices that run replicas."""
        return (self._device or "",)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that have variables."""
        return (self._device or "",)

    def non_slot_devices(self, var_list: Iterable[Any]) -> Any:
        """Return where an optimizer keeps variables that belong to no variable in particular."""
        return (self._device,) if self._device else min(var_list, key=lambda var: var.name)

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Arguments = (), kwargs: Keywords = None
    ) -> Any:
        """Return the result of `fn` in the only replica, whose operations are on the device."""
        distribution_modes.require_cross_replica(self._strategy)
        with (
            self._strategy.scope(),
            context.device(self._device),
            replicas.ReplicaContext(self._strategy, convert.constant(0)),
        ):
            return fn(*args, **kwargs or {})

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """Return `value`, which is that of the only replica.

        Raises:
            ValueError: there is no such reduction.
        """
        distribution_modes.require_cross_replica(self._strategy)
        replicas.reduction(reduce_op)
        return value

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Iterable[tuple[Any, Any]]
    ) -> list[Any]:
        """Return the values of the pairs. The errors are those of `reduce_to`."""
        return [
            self.reduce_to(reduce_op, value, destination)
            for value, destination in value_destination_pairs
        ]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Return the tensor, which the only replica can read."""
        distribution_modes.require_cross_replica(self._strategy)
        return tensor

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Arguments = (),
        kwargs: Keywords = None,
        group: bool = True,
    ) -> Any:
        """Return `fn(var, *args, **kwargs)`. Without `group`, each part is in a tuple of its own.

        The operations are on the device of the strategy.
        """
        return self.update_non_slot(None, fn, (var, *args), kwargs, group)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Arguments = (),
        kwargs: Keywords = None,
        group: bool = True,
    ) -> Any:
        """Return `fn(*args, **kwargs)`, as `update` does."""
        return self._run_on(self._device, fn, args, kwargs, group)

    def _run_on(
        self,
        device: str | None,
        fn: Callable[..., Any],
        args: Arguments,
        kwargs: Keywords,
        group: bool,
    ) -> Any:
        """Return `fn(*args, **kwargs)`, whose operations are on a device."""
        distribution_modes.require_cross_replica(self._strategy)
        with self._strategy.scope(), context.device(device):
            result = fn(*args, **kwargs or {})
        return result if group else nest.map_structure(lambda part: (part,), result)

    def read_var(self, v: Any) -> Any:
        """Return the value of a variable."""
        return array_ops.identity(v)

    def value_container(self, value: Any) -> Any:
        """Return the value: no container has the values of one replica."""
        return value

    def variable_created_in_scope(self, v: Any) -> bool:
        """Return whether a variable was created in the scope of the strategy."""
        return getattr(v, "_distribute_strategy", None) is self._strategy

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[None]:
        """Place new variables on the device of a variable, in a `with` block."""
        distribution_modes.require_scope(self._strategy)

        def create(next_creator: Callable[..., Any], **options: Any) -> Any:
            return next_creator(**options, colocate_with=colocate_with_variable)

        return variable_creation.variable_creator_scope(create)

    def experimental_run_steps_on_iterator(
        self,
        fn: Callable[..., Any],
        iterator: Any,
        iterations: Any = 1,
        initial_loop_values: Any = None,
    ) -> distribution_inputs.MultiStepContext:
        """Call `fn(context, inputs)` in the body of a loop that runs `iterations` steps.

        `run_op` of the result runs the loop. The outputs that `fn` sets have the structure of
        `initial_loop_values`.
        """
        distribution_modes.require_cross_replica(self._strategy)
        outputs = distribution_inputs.MultiStepContext()

        def body(count: Any, *_: Any) -> list[Any]:
            done = fn(outputs, iterator.get_next())
            outputs.map_outputs(self.loop_values)
            last = nest.flatten(outputs.last_step_outputs)
            with context.control_dependencies([done]):
                return [count + 1, *map(array_ops.identity, last)]

        with self._strategy.scope():
            start = [convert.constant(0), *nest.flatten(initial_loop_values or {})]
            found = while_ops.while_loop(
                lambda count, *_: count < iterations,
                body,
                start,
                parallel_iterations=1,
                back_prop=False,
                return_same_structure=True,
            )
        outputs.run_op = grouping.group(*found)
        outputs.keep(nest.pack_sequence_as(outputs.last_step_outputs, found[1:]))
        outputs.map_outputs(self.loop_result)
        return outputs

    def loop_values(self, output: Any) -> Any:
        """Return the tensors of an output of a step, which a loop carries."""
        return output

    def loop_result(self, values: Any) -> Any:
        """Return the output of the last step, whose tensors a loop has carried."""
        return values

    def create_variable(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Make a variable as the strategy does: as a resource, and on its device."""
        beside = options.pop("colocate_with", None)
        options["use_resource"] = True
        place = context.device(self._device) if beside is None else context.colocate_with(beside)
        with place:
            variable = next_creator(**options)
        variable._distribute_strategy = self._strategy
        return variable
