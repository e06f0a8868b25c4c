"""Functions of `tf.keras.backend` about graphs, names and values (python/keras/backend.py)."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from capstan.api import array_ops, functional_ops, printing
from capstan.api.layers import context, settings, values
from capstan.api.variables import Variable
from capstan.framework import graph as graphs
from capstan.framework.sparse_tensor import SparseTensor
from capstan.keras import tensor_layout


def backend() -> str:
    """Return the name of the backend, "tensorflow"."""
    return "tensorflow"


def eval(x: Any) -> Any:  # noqa: A001 - the name in Keras
    """Return the value of a variable or tensor, in Keras's session. Blocks."""
    return values.get_value(tensor_layout.to_dense(x))


def count_params(x: Any) -> int:
    """Return the number of elements of a variable or tensor of known shape."""
    return int(np.prod(x.shape.as_list(), dtype=np.int64))


def name_scope(name: str) -> AbstractContextManager[str]:
    """Return a `with` block that prefixes the names of new operations."""
    return graphs.get_default_graph().name_scope(name)


def get_uid(prefix: str = "") -> int:
    """Return 1 for the first call with a prefix in the default graph, 2 for the second, and so on.

    Names that Keras numbers count as calls.
    """
    return context.of().uid(prefix)


def reset_uids() -> None:
    """Begin the numbers of `get_uid` of the default graph again."""
    context.of().reset_uids()


def manual_variable_initialization(value: bool) -> None:
    """Leave the initialization of variables to the program, and not to `get_session`, if true."""
    settings.SETTINGS.initializes_variables = not value


def is_keras_tensor(x: Any) -> bool:
    """Return whether a tensor is an input or the output of a layer.

    Raises:
        ValueError: `x` is neither a tensor nor a variable.
    """
    if not isinstance(x, graphs.Tensor | Variable | SparseTensor):
        raise ValueError(  # noqa: TRY004 - as in Keras
            f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor "
            "instance."
        )
    graph = graphs.get_default_graph()
    return x in context.of(graph).nodes


def print_tensor(x: Any, message: str = "") -> Any:
    """Return `x`. A step that needs the result writes the message and the value to stdout."""
    printed = printing.print(message, x, output_stream=sys.stdout)
    with graphs.get_default_graph().control_dependencies([printed]):
        return array_ops.identity(x)


def map_fn(fn: Callable[[Any], Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """Return the results of `fn` for the rows of `elems`."""
    return functional_ops.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """Combine the rows of `elems` by `fn`, from the first to the last."""
    return functional_ops.foldl(fn, elems, initializer=initializer, name=name)


def foldr(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """Combine the rows of `elems` by `fn`, from the last to the first."""
    return functional_ops.foldr(fn, elems, initializer=initializer, name=name)
