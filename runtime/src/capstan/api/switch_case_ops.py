"""`tf.switch_case` (python/ops/control_flow_switch_case.py)."""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import functional_branches
from capstan.api.scoped import scoped
from capstan.framework import graph as graphs

__all__ = ["switch_case"]

_Function = Callable[[], Any]


def switch_case(
    branch_index: Any, branch_fns: Any, default: _Function | None = None, name: str = "switch_case"
) -> Any:
    """Return the result of the function whose number is `branch_index`, an integer scalar.

    `branch_fns` is a list of functions, a list of pairs of number and function, or a dictionary.
    The numbers are 0 to n - 1. For any other index, return the result of `default`, or of the last
    function if `default` is None. All functions return the same structure of the same types.
    The graph gets a `Case`, which calls the functions. Conditionals and loops inside a function are
    built with control flow v2.

    Raises:
        TypeError: `branch_index` is not an integer tensor, or `branch_fns` does not hold functions.
        ValueError: there are no functions, or their numbers are not 0 to n - 1.
    """
    functions = _functions(branch_index, branch_fns)
    if default is not None:
        if not callable(default):
            raise TypeError("default must be callable.")
        functions.append(default)
    with scoped(name, "switch_case", (branch_index,)):
        return functional_branches.switch_case(branch_index, functions)


def _functions(branch_index: Any, branch_fns: Any) -> list[_Function]:
    """Return the functions in the order of their numbers."""
    if not isinstance(branch_index, graphs.Tensor):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"'branch_index' must be an integer Tensor, got {branch_index.dtype}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    if not isinstance(branch_fns, list | tuple | Mapping):
        raise TypeError("'branch_fns' must be a list, tuple, or dict")
    pairs = list(branch_fns.items() if isinstance(branch_fns, Mapping) else branch_fns)
    if all(callable(function) for function in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        _check_pair(pair)
    numbers = sorted(number for number, _ in pairs)
    if numbers != list(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{{{','.join(map(str, numbers))}}}"
        )
    return [function for _, function in sorted(pairs, key=lambda pair: pair[0])]


def _check_pair(pair: Any) -> None:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {pair}.")
    number, function = pair
    if not isinstance(number, int):
        raise TypeError(f"key must be a Python `int`, got {type(number)}")
    if not callable(function):
        raise TypeError(f"fn for key {number} must be callable.")
