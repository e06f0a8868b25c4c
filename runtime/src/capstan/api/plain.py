"""The public functions that only add one operation and pass their arguments to it."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from capstan.framework import opdef, sparse_tensor
from capstan.framework.raw import raw


def of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that also takes a SparseTensor, and then changes only its values."""
    first = next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def mapped(*arguments: Any, **keywords: Any) -> Any:
        x = arguments[0] if arguments else keywords.get(first)
        if not isinstance(x, sparse_tensor.SparseTensor):
            return function(*arguments, **keywords)
        rest = {key: value for key, value in keywords.items() if key != first}
        values = function(x.values, *arguments[1:], **rest)
        return sparse_tensor.SparseTensor(x.indices, values, x.dense_shape)

    return mapped


def function(name: str, op: str, purpose: str, default: str | None = None) -> Callable[..., Any]:
    """Return the public function `name`, which adds one operation of type `op`.

    Its parameters are the input arguments of the op, and `name`, as in TensorFlow. `purpose` is its
    docstring. Without a name, the operation is named `default`, or else after its type.
    """
    add = getattr(raw, op)
    inputs = [argument.name for argument in opdef.lookup(op).input_arguments]
    parameters = [
        inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in inputs
    ]
    parameters.append(
        inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    )
    signature = inspect.Signature(parameters)

    def plain(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == len(inputs) and not keywords:
            return add(*arguments, name=default)
        given = signature.bind(*arguments, **keywords).arguments
        node_name = given.pop("name", None)
        return add(*given.values(), name=node_name or default)

    plain.__name__ = plain.__qualname__ = name
    plain.__doc__ = purpose
    plain.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect and help
    return plain
