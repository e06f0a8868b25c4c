"""Functions of `tf` under the signatures that they have in `tf.compat.v2`.

A row is a signature in Python's syntax, such as `pad(tensor, paddings, mode="CONSTANT")`. An
annotation gives the name that an argument has in `tf`: `ones_like(input: tensor)`. A default that
is a bare name, such as `int64`, is a type. A return annotation gives the path of the function in
`tf`, if it is not that of the row.
"""

import ast
import inspect
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from capstan.core import dtypes


@dataclass(frozen=True, slots=True)
class Row:
    """A function of `tf.compat.v2`: its name, the path of its `home` in `tf`, and its arguments.

    `renamed` has the names in `tf` of the arguments that have other names there.
    """

    name: str
    home: str
    signature: inspect.Signature
    renamed: Mapping[str, str]


def parse(module: str, text: str) -> Row:
    """Return the row that `text` describes, in a module of `tf.compat.v2` such as `nn`.

    Raises:
        SyntaxError: it is no signature.
    """
    (parsed,) = ast.parse(f"def {text}: pass").body
    assert isinstance(parsed, ast.FunctionDef)
    own = f"{module}.{parsed.name}".lstrip(".")
    return Row(
        parsed.name,
        own if parsed.returns is None else ast.unparse(parsed.returns),
        inspect.Signature(_parameters(parsed.args)),
        {it.arg: ast.unparse(it.annotation) for it in parsed.args.args if it.annotation},
    )


def function(row: Row) -> Callable[..., Any]:
    """Return the function of a row. It raises TypeError if a call does not fit the signature.

    The function looks its home up in `tf` at each call, so that nothing is imported before.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        bound = row.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = {row.renamed.get(name, name): value for name, value in bound.arguments.items()}
        return operator.attrgetter(row.home)(sys.modules["capstan"])(**given)

    called.__name__ = called.__qualname__ = row.name
    called.__doc__ = f"As `tf.{row.home}`, with the arguments of TensorFlow 2."
    vars(called)["__signature__"] = row.signature
    return called


def _parameters(arguments: ast.arguments) -> list[inspect.Parameter]:
    required = len(arguments.args) - len(arguments.defaults)
    defaults = [inspect.Parameter.empty] * required + [_default(it) for it in arguments.defaults]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [
        inspect.Parameter(argument.arg, kind, default=default)
        for argument, default in zip(arguments.args, defaults, strict=True)
    ]


def _default(node: ast.expr) -> Any:
    return dtypes.as_dtype(node.id) if isinstance(node, ast.Name) else ast.literal_eval(node)
