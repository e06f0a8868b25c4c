"""Syntax trees from templates."""

import ast
from typing import Any


def statements(template: str, origin: ast.AST, **parts: Any) -> list[ast.stmt]:
    """Return the statements of a template, at the place of `origin` in the file.

    A name of the template that is in `parts` stands for this expression. If the name is a statement
    of its own, it may stand for a list of statements.
    """
    tree = ast.parse(template)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            ast.copy_location(node, origin)
    return _Fill(parts).visit(tree).body  # type: ignore[no-any-return]


def expression(template: str, origin: ast.AST, **parts: Any) -> ast.expr:
    """Return the expression of a template, as `statements` does."""
    (statement,) = statements(template, origin, **parts)
    assert isinstance(statement, ast.Expr)
    return statement.value


def text_tuple(values: list[str]) -> str:
    """Return the source of a tuple of texts."""
    return repr(tuple(values))


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = parts

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(self._parts.get(node.value.id), list):
            return self._parts[node.value.id]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        return self._parts.get(node.id, node)
