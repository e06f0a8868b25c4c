"""`tf.ragged.map_flat_values` (python/ops/ragged/ragged_functional_ops.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api.ragged import partition, tensor
from capstan.framework import graph as graphs


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of `op` for the flat values of ragged arguments, with their row splits.

    The arguments may hold ragged tensors in lists, tuples and dicts. All have the same row splits,
    which a step checks. Without ragged arguments, return `op(*args, **kwargs)`.

    Raises:
        ValueError: the ragged arguments have different numbers of ragged axes, or row splits of
            different dtypes.
    """
    found: list[tensor.RaggedTensor] = []
    flat_args, flat_kwargs = _flat(args, found), _flat(kwargs, found)
    if not found:
        return op(*args, **kwargs)
    tensor.matched(*found)
    nested = [each.nested_row_splits for each in found]
    with graphs.get_default_graph().control_dependencies(partition.assert_equal_splits(nested)):
        return tensor.rows_of(op(*flat_args, **flat_kwargs), *nested[0])


def _flat(value: Any, found: list[tensor.RaggedTensor]) -> Any:
    """Return `value` with its ragged tensors replaced by their flat values. Add them to `found`."""
    if tensor.is_ragged(value):
        ragged = tensor.converted(value)
        found.append(ragged)
        return ragged.flat_values
    if isinstance(value, list):
        return [_flat(each, found) for each in value]
    if isinstance(value, tuple):
        return tuple(_flat(each, found) for each in value)
    if isinstance(value, dict):
        return {key: _flat(each, found) for key, each in value.items()}
    return value
