"""The functions of `tf.tpu` that programs also call without TPUs (python/tpu).

There is one replica: the graph of the program itself.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, nest, while_ops


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
    """Run `body` while `condition` is true, and return the last values of `inputs`, as a list.

    `name` has no effect.

    Raises:
        ValueError: `infeed_queue` is given: there is no infeed without TPUs.
    """
    if infeed_queue is not None:
        raise ValueError("infeed_queue must be None: Capstan knows no TPUs")
    given = [] if inputs is None else nest.flatten(inputs)
    if not given:
        raise ValueError("while_loop needs inputs: without TPUs, a loop changes nothing else")
    return while_ops.while_loop(condition, body, given, return_same_structure=True)


def repeat(
    n: int,
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    name: Any = None,
) -> Any:
    """Run `body` `n` times, and return the last values of `inputs`, as a list."""

    def counted(count: Any, *values: Any) -> list[Any]:
        made = body(*values)
        return [count + 1, *(made if isinstance(made, list | tuple) else [made])]

    given = [] if inputs is None else nest.flatten(inputs)
    return while_loop(lambda count, *_: count < n, counted, [0, *given], infeed_queue, name)[1:]
