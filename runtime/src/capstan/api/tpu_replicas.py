"""The functions of `tf.tpu` that programs also call without TPUs (python/tpu).

There is one replica: the graph of the program itself.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, while_ops
from capstan.framework import convert, grouping
from capstan.framework import graph as graphs


class TpuContext:
    """What programs ask about the replicas of TPUs."""

    number_of_shards = None
    """How many there are, or None outside of a computation on TPUs."""


def get_tpu_context() -> TpuContext:
    """Return the context of a program without TPUs."""
    return TpuContext()


def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Any:
    """Return `x`: the sum over one replica."""
    return array_ops.identity(x, name=name)


def outside_compilation(computation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what `computation` returns for the arguments: nothing is compiled for TPUs."""
    return computation(*args, **kwargs)


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    name: Any = None,
) -> Any:
    """Run `body` while `condition` is true, and return the last values of `inputs`.

    `body` returns the next values, and after them any operations, which every turn of the loop
    runs. The result is a list, or a tensor if there is one value. A loop without `inputs` returns
    a tensor without a meaning, which runs the loop. `name` has no effect.

    Raises:
        ValueError: `infeed_queue` is given: there is no infeed without TPUs. Or `body` returns
            None, or a tensor after an operation.
    """
    if infeed_queue is not None:
        raise ValueError("infeed_queue must be None: Capstan knows no TPUs")
    given = _listed(inputs)

    def goes_on(*values: Any) -> Any:
        return condition(*(values if given else ()))

    def turn(*values: Any) -> Any:
        tensors, operations = _outputs(body(*(values if given else ())))
        tensors = tensors or [convert.constant(0)]
        return grouping.tuple_of(tensors, control_inputs=operations)

    carried = given or [convert.constant(0)]
    return while_ops.while_loop(goes_on, turn, carried, parallel_iterations=1)


def repeat(
    n: int,
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    name: Any = None,
) -> Any:
    """Run `body` `n` times, and return the last values of `inputs`, as a list.

    `body` returns what it returns in `while_loop`. Without `inputs`, the result is an operation
    that runs the loop.

    Raises:
        ValueError: as `while_loop`.
    """

    def counted(count: Any, *values: Any) -> list[Any]:
        returned = body(*values)
        return [count + 1, *(returned if isinstance(returned, list | tuple) else [returned])]

    made = while_loop(lambda count, *_: count < n, counted, [0, *_listed(inputs)], infeed_queue)
    return made[1:] if isinstance(made, list) else made.op


def _listed(values: Any) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, list | tuple) else [values]


def _outputs(returned: Any) -> tuple[list[Any], list[graphs.Operation]]:
    """Return the tensors and the operations that the body of a loop returns."""
    made = list(returned) if isinstance(returned, list | tuple) else [returned]
    if any(each is None for each in made):
        raise ValueError(
            "The body of a loop must return the next values of the inputs, and after them any "
            "operations, but returns None. Without values, return an operation or an empty list."
        )
    operations = [each for each in made if isinstance(each, graphs.Operation)]
    tensors = made[: len(made) - len(operations)]
    if any(isinstance(each, graphs.Operation) for each in tensors):
        raise ValueError("The body of a loop must return tensors first, and operations after them.")
    return [convert.convert_to_tensor(each) for each in tensors], operations
