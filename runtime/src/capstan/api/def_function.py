"""`tf.function` and its older form `defun` (python/eager/{def_function,function}.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api.traced.concrete import ConcreteFunction
from capstan.api.traced.polymorphic import Function

__all__ = ["ConcreteFunction", "Function", "defun", "defun_with_attributes", "function"]


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """Return a function that calls `func` as one operation of the graph.

    The first call with a kind of arguments traces `func`: it calls it on placeholders, and adds a
    function to the graph. Each call adds an operation that calls this function. Tensors of the same
    types and shapes are of one kind. Other values are part of the trace. With
    `experimental_relax_shapes`, a second call whose tensors differ only in their sizes makes a
    trace for all sizes. `input_signature`, a list of `tf.TensorSpec`, allows one kind only.

    Operations with effects run in the order in which `func` adds them, and run in each call.
    `func` may make variables in its first call only. They belong to the graph around the call. With
    `autograph`, `if`, `while` and `for` over tensors become operations of the graph.
    `experimental_compile` is accepted and changes nothing.

    Without `func`, return a decorator.

    Raises:
        TypeError, ValueError: `input_signature` is wrong.
    """

    def decorated(inner: Callable[..., Any]) -> Function:
        attributes = None
        if experimental_compile is not None:
            attributes = {"_XlaCompile": bool(experimental_compile)}
        return Function(
            inner,
            None,
            input_signature,
            autograph,
            experimental_autograph_options,
            experimental_relax_shapes,
            attributes,
        )

    return decorated if func is None else decorated(func)


def defun(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """Return a function as `tf.function` does. It may make variables in each trace."""
    return defun_with_attributes(
        func,
        input_signature,
        None,
        autograph,
        experimental_autograph_options,
        experimental_relax_shapes,
    )


def defun_with_attributes(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    attributes: dict[str, Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """Return a function as `defun` does, whose functions of the graph have `attributes`."""

    def decorated(inner: Callable[..., Any]) -> Function:
        return Function(
            inner,
            None,
            input_signature,
            autograph,
            experimental_autograph_options,
            experimental_relax_shapes,
            attributes,
            makes_variables_once=False,
        )

    return decorated if func is None else decorated(func)
