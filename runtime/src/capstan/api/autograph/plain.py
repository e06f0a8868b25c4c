"""Take out of a function what its blocks cannot have when they become functions. Pure."""

import ast

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_OF_CALLER = ("eval", "exec", "locals")
"""Functions that read the variables of their caller."""
_MOVED = (ast.If, ast.While, ast.For, ast.BoolOp, ast.IfExp, ast.Assert)
"""What becomes a function, or has a part that does."""


def prepare(function: ast.FunctionDef) -> None:
    """Change the function in place: annotated variables, and declarations in blocks.

    Raises:
        ValueError: a block uses the variables of its function by name, or a jump leaves a
            `finally`, so the function cannot be converted.
    """
    _check(function, is_moved=False)
    changing = _Plain()
    function.body = [made for node in function.body for made in _as_list(changing.visit(node))]
    text = isinstance(function.body[0], ast.Expr) and isinstance(
        function.body[0].value, ast.Constant
    )
    function.body[text:text] = changing.declarations


def _as_list(made: object) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]  # type: ignore[list-item]


def _check(node: ast.AST, *, is_moved: bool) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            continue
        if is_moved and _is_of_caller(child):
            raise ValueError("a conditional or a loop calls `locals`, `eval` or `exec`")
        if isinstance(child, ast.Try) and _leaves(child.finalbody):
            raise ValueError("`return`, `break` or `continue` leaves a `finally`")
        _check(child, is_moved=is_moved or isinstance(child, _MOVED))


def _is_of_caller(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    name = node.func.id
    return name in _OF_CALLER or (name in ("dir", "vars") and not node.args)


def _leaves(block: list[ast.stmt], *, is_loop: bool = False) -> bool:
    """Return whether a jump in a block leaves the block."""
    for node in block:
        if isinstance(node, ast.Return):
            return True
        if isinstance(node, ast.Break | ast.Continue) and not is_loop:
            return True
        if isinstance(node, _SCOPES):
            continue
        inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
        parts = (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))
        inner += [statement for each in parts for statement in each.body]
        if _leaves(inner, is_loop=is_loop or isinstance(node, ast.For | ast.While)):
            return True
    return False


class _Plain(ast.NodeTransformer):
    def __init__(self) -> None:
        self.declarations: list[ast.stmt] = []
        """The declarations of all blocks: they hold for the whole function."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        self.declarations.append(node)
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        self.declarations.append(node)
        return ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node
