"""Python functions in a graph: `py_func`, `numpy_function` and `py_function`.

Source: python/ops/script_ops.py.
"""

from collections.abc import Callable
from typing import Any

from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.resources import python_functions

__all__ = ["numpy_function", "py_func", "py_function"]


def py_func(
    func: Callable[..., Any],
    inp: Any,
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Return the results of `func`, which gets the values of the tensors `inp` as NumPy arrays.

    `Tout` is the type of the result. If `Tout` is a list of types, the return value is a list of
    results. If the list is empty and `func` is stateful, the return value is the operation. `func`
    gets a scalar as a NumPy scalar, and a string as bytes. `func` runs in the process that builds
    the graph, so the task that runs the operation must be in this process. The graph keeps `func`
    alive.

    Functions that do not depend on each other run at the same time, in other threads. If `func` is
    not stateful and its arguments are known before the step, it may run only once.

    If `func` raises, the step fails. A ValueError or TypeError becomes an InvalidArgumentError,
    StopIteration an OutOfRangeError, MemoryError a ResourceExhaustedError, and NotImplementedError
    an UnimplementedError. Any other exception becomes an UnknownError.

    Raises:
        ValueError: `func` is not callable.
    """
    return _called("PyFunc" if stateful else "PyFuncStateless", func, inp, Tout, name)


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,
    name: str | None = None,
) -> Any:
    """Return the results of `func`, which gets the values of the tensors `inp` as arrays.

    This is `py_func` with two differences. The arrays also have the method `numpy()`, as eager
    tensors have. Each result is converted to its type in `Tout`: NumPy arrays are cast, and Python
    numbers must be of the kind of the type. Capstan has no eager operations, so `func` computes
    with NumPy, and an operation of `tf` cannot be used in `func`. `tf.gradients` raises LookupError
    at the operation.

    Raises:
        ValueError: `func` is not callable.
    """
    return _called("EagerPyFunc", func, inp, Tout, name)


def _called(op_type: str, func: Any, inp: Any, types_out: Any, name: str | None) -> Any:
    """Add the operation that calls a function."""
    if not callable(func):
        raise ValueError(  # noqa: TRY004 - TensorFlow's class
            f"Expected func to be callable. Received func={func} of type {type(func)}."
        )
    is_list = isinstance(types_out, list | tuple)
    types = [dtypes.as_dtype(dtype) for dtype in (types_out if is_list else [types_out])]
    registered = python_functions.FUNCTIONS.register(func)
    outermost: Any = graphs.get_default_graph()
    while outermost.building_function:
        outermost = outermost.outer_graph
    outermost.keep(registered)
    graph = graphs.get_default_graph()
    with graph.name_scope(name or op_type) as scope:
        tensors = [
            convert.convert_to_tensor(value, name=f"input_{place}")
            for place, value in enumerate(inp)
        ]
        kinds = [tensor.dtype.base_dtype for tensor in tensors]
        attrs = {"token": registered.token.encode(), "Tin": kinds, "Tout": types}
        op = graph.create_op(op_type, tensors, name=scope, attrs=attrs)
    if not op.outputs and op_type != "PyFuncStateless":
        return op
    return op.outputs if is_list else op.outputs[0]


def numpy_function(
    func: Callable[..., Any],
    inp: Any,
    Tout: Any,
    name: str | None = None,
) -> Any:
    """Return the results of `func`, as `py_func` does."""
    return py_func(func, inp, Tout, name=name)
