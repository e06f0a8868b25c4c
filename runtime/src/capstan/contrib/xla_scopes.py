"""`tf.contrib.compiler`: scopes and calls that ask TensorFlow to compile with XLA.

Capstan compiles every step by its own compiler, so they change nothing
(contrib/compiler/{jit,xla}.py).
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["compile", "experimental_jit_scope"]


@contextlib.contextmanager
def experimental_jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Return a block of which Capstan compiles the operations as it compiles all others."""
    yield


def compile(  # noqa: A001 - the name of TensorFlow's function
    computation: Callable[..., Any], inputs: Sequence[Any] | None = None
) -> list[Any]:
    """Return the outputs of `computation(*inputs)`, as a list."""
    found = computation(*(inputs or ()))
    return list(found) if isinstance(found, list | tuple) else [found]
