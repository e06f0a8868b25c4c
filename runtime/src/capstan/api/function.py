"""`Defun` defines a function of the graph (python/framework/function.py).

from capstan.api import function

@function.Defun(tf.float32, tf.float32)
def add_and_subtract(x, y):
    return x + y, x - y

total, difference = add_and_subtract(1.0, 2.0)
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from capstan.api.function_body import building
from capstan.core import dtypes, function
from capstan.framework import convert, func_graph, function_def
from capstan.framework import graph as graphs

__all__ = ["Defun"]


class Defun:
    """A decorator that makes a Python function a function of the graph.

    The arguments of the decorator are the types of the function's inputs. Without types, the
    function is defined once for each combination of the types of its inputs. The function is
    defined at its first call.
    """

    def __init__(self, *input_types: Any, **options: Any) -> None:
        """Create the decorator.

        Its options are:

        - `func_name`: the name of the function in the graph
        - `grad_func`: another defined function, which computes the gradients
        - `python_grad_func(op, *grads)`: a Python function that builds the gradients of a call
        - `out_names`: the names of the results
        - `shape_func(op)`: a Python function that returns the shapes of the results
        """
        self._input_types = tuple(dtypes.as_dtype(dtype) for dtype in input_types)
        self._options = options

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Return the defined function.

        Raises:
            ValueError: `func` is not callable, has defaults or keywords, or takes another number of
                arguments.
        """
        if not callable(func):
            raise ValueError(f"Function {func} must be a callable.")  # noqa: TRY004
        described = inspect.getfullargspec(func)
        if described.varkw or described.defaults:
            raise ValueError(
                "Functions with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {described.defaults} and keywords {described.varkw}."
            )
        arguments = described.args[1:] if inspect.ismethod(func) else described.args
        least, most = len(arguments), 1_000_000 if described.varargs else len(arguments)
        count = len(self._input_types)
        if self._input_types and not least <= count <= most:
            raise ValueError(
                "The number of tf.function input types is not compatible with the allowed "
                f"arguments of {func}. The tf.function have {count} input types, while the python "
                f"function allows minimum {least} and maximum {most} arguments."
            )
        if self._input_types or not arguments:
            return _DefinedFunction(func, arguments, self._input_types, **self._options)
        return _OverloadedFunction(func, arguments, **self._options)


class _DefinedFunction:
    """A function for fixed types of its inputs."""

    def __init__(
        self,
        func: Callable[..., Any],
        argument_names: Sequence[str],
        input_types: Sequence[dtypes.DType],
        func_name: str | None = None,
        grad_func: "_DefinedFunction | None" = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] = (),
        shape_func: Callable[[Any], Sequence[Any]] | None = None,
        **attributes: Any,
    ) -> None:
        self._func = func
        self._argument_names = argument_names
        self._input_types = input_types
        self._func_name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._out_names = tuple(out_names or ())
        self._shape_func = shape_func
        self._attributes = attributes
        self._made: tuple[function.Function, func_graph.FuncGraph] | None = None

    @property
    def name(self) -> str:
        """The name of the function in the graph."""
        return self._definition()[0].name

    @property
    def definition(self) -> Any:
        """The function as a FunctionDef."""
        made, body = self._definition()
        return function_def.encode_function(made, {each.name: each for each in body.functions()})

    @property
    def captured_inputs(self) -> list[Any]:
        """The tensors of the outer graph that the function reads."""
        return self._definition()[1].captured_inputs

    @property
    def declared_input_types(self) -> Sequence[dtypes.DType]:
        return self._input_types

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        return self._python_grad_func

    @property
    def grad_func_name(self) -> str | None:
        return None if self._grad_func is None else self._grad_func.name

    def set_grad_func(self, grad_func: "_DefinedFunction") -> None:
        """Let `grad_func` compute the gradients of the function."""
        assert self._grad_func is None
        self._grad_func = grad_func

    def add_to_graph(self, graph: graphs.Graph) -> None:
        """Add the function, the functions that it calls and its gradient function to `graph`."""
        made, body = self._definition()
        for each in body.functions():
            graph.add_function(each, body.python_gradient(each.name))
        graph.add_function(replace(made, gradient=self.grad_func_name or ""), self.python_grad_func)
        if self._grad_func is not None:
            self._grad_func.add_to_graph(graph)

    def __call__(self, *inputs: Any, name: str | None = None, **options: Any) -> Any:
        """Call the function in the default graph.

        Return the result, a tuple of several results, or the operation if there is no result.
        The options `noinline` and `compiled` become attributes of the call.

        Raises:
            ValueError: the number of inputs is wrong, or an option is unknown.
        """
        graph = graphs.get_default_graph()
        made, _ = self._definition()
        self.add_to_graph(graph)
        tensors = [convert.convert_to_tensor(value) for value in inputs] + self.captured_inputs
        if len(tensors) != len(made.arguments):
            raise ValueError(
                f"Expected number of arguments: {len(made.arguments)}, received: {len(tensors)}"
            )
        for place, (tensor, argument) in enumerate(zip(tensors, made.arguments, strict=True)):
            if tensor.dtype.base_dtype is not argument.dtype:
                raise ValueError(
                    f"Cannot convert value to a tensor of the type of argument {place} of function "
                    f"'{made.name}': {tensor.name} is {tensor.dtype.name}, not "
                    f"{argument.dtype.name}"
                )
        op = graph.create_op(
            made.name,
            tensors,
            made.result_dtypes,
            name=name or made.name.replace("<lambda>", "lambda"),
            attrs=_attrs(options),
        )
        if self._shape_func is not None:
            self._set_shapes(op, list(self._shape_func(op)))
        outputs = op.outputs
        return op if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _set_shapes(self, op: graphs.Operation, shapes: Sequence[Any]) -> None:
        if len(shapes) != len(op.outputs):
            raise ValueError(
                f"shape_func {self._shape_func} produced {len(shapes)} shapes, which does not "
                f"match {len(op.outputs)} outputs."
            )
        for tensor, shape in zip(op.outputs, shapes, strict=True):
            tensor.set_shape(shape)

    def _definition(self) -> tuple[function.Function, func_graph.FuncGraph]:
        if self._made is None:
            body = self._body()
            base = _name_of(self._func)
            if self._grad_func is not None:
                base += f"_{self._grad_func.name}"
            made = body.finished(self._func_name, base, self._out_names, _attrs(self._attributes))
            self._made = replace(made, description=self._func.__doc__ or ""), body
        return self._made

    def _body(self) -> func_graph.FuncGraph:
        body = func_graph.FuncGraph()
        with building(body, inherits_reuse=False):
            names = [*self._argument_names][: len(self._input_types)]
            names += [f"arg{place}" for place in range(len(names), len(self._input_types))]
            inputs = [
                body.add_argument(name, dtype)
                for name, dtype in zip(names, self._input_types, strict=True)
            ]
            results = self._func(*inputs)
            if results is None:
                results = ()
            elif not isinstance(results, list | tuple):
                results = (results,)
            if any(result is None for result in results):
                raise ValueError(f"Function {self._func.__name__} can not return None.")
            body.outputs = [body.capture(convert.convert_to_tensor(value)) for value in results]
        return body


class _OverloadedFunction:
    """A function that is defined once for each combination of the types of its inputs."""

    def __init__(
        self,
        func: Callable[..., Any],
        argument_names: Sequence[str],
        func_name: str | None = None,
        grad_func: "_OverloadedFunction | None" = None,
        **options: Any,
    ) -> None:
        self._func = func
        self._argument_names = argument_names
        self._func_name = func_name
        self._grad_func = grad_func
        self._options = options
        self._defined: dict[tuple[dtypes.DType, ...], _DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[dtypes.DType]) -> _DefinedFunction:
        """Return the function for inputs of these types."""
        key = tuple(input_types)
        defined = self._defined.get(key)
        if defined is None:
            name = self._func_name
            if name is not None:
                name = "_".join([name, *(dtype.name for dtype in key)])
            defined = _DefinedFunction(self._func, self._argument_names, key, name, **self._options)
            if self._grad_func is not None:
                results = defined._definition()[0].result_dtypes
                defined.set_grad_func(self._grad_func.instantiate([*key, *results]))
            self._defined[key] = defined
        return defined

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Call the function for the types of `inputs`, as `_DefinedFunction.__call__`."""
        tensors = [convert.convert_to_tensor(value) for value in inputs]
        return self.instantiate([tensor.dtype.base_dtype for tensor in tensors])(
            *tensors, **options
        )


def _name_of(func: Callable[..., Any]) -> str:
    """Return the beginning of the name of a function that the program does not name."""
    if inspect.ismethod(func):
        return f"{type(func.__self__).__name__}.{func.__name__}"
    return func.__name__


def _attrs(options: dict[str, Any]) -> dict[str, Any]:
    """Convert options to the attributes of a function or of a call."""
    known = {"noinline": "_noinline", "compiled": "_XlaCompile"}
    unknown = [name for name in options if name not in known and not _is_open(name)]
    if unknown:
        raise ValueError(f"Unknown keyword arguments: {unknown}.")
    for name, value in options.items():
        if not isinstance(value, bool | int | float | str | bytes):
            raise TypeError(f"Unsupported type for attribute {name}: {type(value)}.")
    return {known.get(name, name): value for name, value in options.items()}


def _is_open(name: str) -> bool:
    """Return whether TensorFlow accepts the option `name` without knowing its meaning."""
    return name.startswith(("experimental_", "api_"))
