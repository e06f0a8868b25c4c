"""Branches, loops and calls that are operations on functions (python/ops/functional_ops.py).

The functions are those that `tf.contrib.framework`'s `Defun` makes. A function of a loop or a
branch may not read tensors of the graph around it: pass them as inputs.
"""

from collections.abc import Sequence
from typing import Any

from capstan.core import dtypes
from capstan.core import function as functions
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["For", "Gradient", "If", "While", "remote_call"]


def If(
    cond: Any, inputs: Sequence[Any], then_branch: Any, else_branch: Any, name: str | None = None
) -> list[Any]:
    """Return the results of `then_branch` or `else_branch`. Both take `inputs`.

    Raises:
        ValueError: a branch reads tensors of the graph around it.
    """
    chosen, other = _added(then_branch, "If"), _added(else_branch, "If")
    found: list[Any] = raw.If(
        cond, list(inputs), Tout=_results(then_branch), then_branch=chosen, else_branch=other,
        name=name,
    )  # fmt: skip
    return found


def While(
    input_: Sequence[Any], cond: Any, body: Any, name: str | None = None, hostmem: Any = None
) -> list[Any]:
    """Return what `body` makes of the inputs, called on its own results while `cond` is true.

    `hostmem` has no effect.

    Raises:
        ValueError: the functions do not take the same types, or read tensors of the graph around
            them.
    """
    if tuple(cond.declared_input_types) != tuple(body.declared_input_types):
        raise ValueError("While op 'cond' and 'body' signatures do not match.")
    found: list[Any] = raw.While(
        list(input_), cond=_added(cond, "While"), body=_added(body, "While"), name=name
    )
    return found


def For(
    start: Any, limit: Any, delta: Any, inputs: Sequence[Any], body: Any, name: str | None = None,
    hostmem: Any = None, rewrite_with_while: bool | None = None,
) -> list[Any]:  # fmt: skip
    """Return what `body(index, *inputs)` makes of the inputs, for each index of a range in turn.

    The range is that of Python. `hostmem` and `rewrite_with_while` have no effect.

    Raises:
        ValueError: the function reads tensors of the graph around it.
    """
    found: list[Any] = raw.For(
        start, limit, delta, list(inputs), body=_added(body, "For"), name=name
    )
    return found


def Gradient(inputs: Sequence[Any], f: Any, name: str | None = None) -> list[Any]:
    """Return the gradient of `f` by its inputs. `inputs` are its inputs and gradients of results.

    Raises:
        ValueError: the function reads tensors of the graph around it.
    """
    found: list[Any] = raw.SymbolicGradient(
        list(inputs), Tout=list(f.declared_input_types), f=_added(f, "Gradient"), name=name
    )
    return found


def remote_call(
    target: Any,
    args: Sequence[Any],
    Tout: Sequence[Any],
    f: Any,
    name: str | None = None,
) -> list[Any]:
    """Return the results of `f`, which runs on the device `target`, a text that is known.

    Raises:
        ValueError: the function reads tensors of the graph around it.
    """
    types = [dtypes.as_dtype(each) for each in Tout]
    found: list[Any] = raw.RemoteCall(
        target, list(args), Tout=types, f=_added(f, "remote_call"), name=name
    )
    return found


def _added(defined: Any, what: str) -> functions.Reference:
    """Add a function to the default graph, and return its reference."""
    if defined.captured_inputs:
        raise ValueError(
            f"{what} op: '{defined.name}' must be a function without implicitly captured inputs."
        )
    defined.add_to_graph(graphs.get_default_graph())
    return functions.Reference(defined.name)


def _results(defined: Any) -> list[dtypes.DType]:
    return [dtypes.as_dtype(each.type) for each in defined.definition.signature.output_arg]
