"""Replace the operators and calls of a function by calls of `ag__`. Pure.

`ag__` has the functions of `capstan.api.autograph.operators`, which decide at run time whether an
operand is a tensor.
"""

import ast

from capstan.api.autograph import build

_LEFT_ALONE = ("dir", "eval", "exec", "globals", "locals", "super", "vars")
"""Functions whose result depends on their caller."""
_EQUALITY = {ast.Eq: "eq", ast.NotEq: "not_eq"}


def convert(function: ast.FunctionDef) -> None:
    """Change the function in place."""
    converting = _Expressions(function)
    function.body = [made for node in function.body for made in _as_list(converting.visit(node))]


def _as_list(made: object) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]  # type: ignore[list-item]


class _Expressions(ast.NodeTransformer):
    def __init__(self, function: ast.FunctionDef) -> None:
        first = [*function.args.posonlyargs, *function.args.args]
        self._self = first[0].arg if first else ""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if _binds(node):
            return node
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        made = node.values[-1]
        for value in reversed(node.values[:-1]):
            made = build.expression(
                f"ag__.{name}(lambda: LEFT, lambda: RIGHT)", value, LEFT=value, RIGHT=made
            )
        return made

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return build.expression("ag__.not_(VALUE)", node, VALUE=node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) > 1:
            return self._chain(node)
        self.generic_visit(node)
        name = _EQUALITY.get(type(node.ops[0]))
        if name is None:
            return node
        parts = {"LEFT": node.left, "RIGHT": node.comparators[0]}
        return build.expression(f"ag__.{name}(LEFT, RIGHT)", node, **parts)

    def _chain(self, node: ast.Compare) -> ast.AST:
        """Compare each pair of neighbours. A value in the middle is computed once."""
        if _binds(node):
            return node
        values = [self.visit(value) for value in (node.left, *node.comparators)]
        tests = [self._test(op, node) for op in node.ops]
        later = [build.expression("lambda: VALUE", value, VALUE=value) for value in values]
        parts = {
            name: ast.copy_location(ast.Tuple(each, ast.Load()), node)
            for name, each in (("TESTS", tests), ("LATER", later))
        }
        return build.expression("ag__.chain(TESTS, LATER)", node, **parts)

    def _test(self, op: ast.cmpop, node: ast.Compare) -> ast.expr:
        """Return a function that compares two values."""
        left, right = (ast.Name(name, ast.Load()) for name in ("ag__a", "ag__b"))
        test = self.visit_Compare(ast.copy_location(ast.Compare(left, [op], [right]), node))
        return build.expression("lambda ag__a, ag__b: TEST", node, TEST=test)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if _binds(node.body) or _binds(node.orelse):
            return node
        self.generic_visit(node)
        return build.expression(
            "ag__.if_exp(TEST, lambda: BODY, lambda: ELSE)",
            node,
            TEST=node.test,
            BODY=node.body,
            ELSE=node.orelse,
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        self.generic_visit(node)
        if name == "super" and not node.args and self._self:
            return build.expression(f"super(__class__, {self._self})", node)
        if name in _LEFT_ALONE or name.startswith("ag__"):
            return node
        if isinstance(node.func, ast.Attribute) and _is_operators(node.func.value):
            return node
        args = ast.copy_location(ast.Tuple(node.args, ast.Load()), node)
        keys: list[ast.expr | None] = [
            None if each.arg is None else ast.copy_location(ast.Constant(each.arg), node)
            for each in node.keywords
        ]
        named = ast.Dict(keys, [each.value for each in node.keywords])
        kwargs: ast.expr = ast.copy_location(named, node)
        if len(keys) > 1 and None in keys:
            kwargs = build.expression("ag__.keywords()", node)
            kwargs.keywords = node.keywords  # type: ignore[attr-defined]
        return build.expression(
            "ag__.call(FUNCTION, ARGS, KWARGS)", node, FUNCTION=node.func, ARGS=args, KWARGS=kwargs
        )

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        message = node.msg or ast.copy_location(ast.Constant(None), node)
        text = "ag__.assert_stmt(TEST, lambda: MESSAGE)"
        made = build.expression(text, node, TEST=node.test, MESSAGE=message)
        return ast.copy_location(ast.Expr(made), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        extra = getattr(node, "extra_test", None)
        self.generic_visit(node)
        if extra is not None:
            node.extra_test = self.visit(extra)  # type: ignore[attr-defined]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        return build.expression("ag__.artifact(VALUE)", node, VALUE=node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        return node  # the conversion of the inner function converts its body

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def _is_operators(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "ag__"


def _binds(node: ast.AST) -> bool:
    """Return whether an expression cannot move into a lambda."""
    kinds = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    return any(isinstance(each, kinds) for each in ast.walk(node))
