"""Take the calls of `set_loop_options` out of the bodies of loops. Pure."""

import ast


def take(function: ast.FunctionDef) -> None:
    """Give each loop of the function its options, as the attribute `options`."""
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.While):
            for statement in list(node.body):
                if _sets_options(statement):
                    node.options = _options(statement)  # type: ignore[union-attr]
                    node.body.remove(statement)
            node.body = node.body or [ast.copy_location(ast.Pass(), node)]


def _sets_options(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    called = node.value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name == "set_loop_options"


def _options(node: ast.stmt) -> ast.expr:
    """Return a call of `dict` with the arguments, of which all are keywords."""
    assert isinstance(node, ast.Expr)
    call = node.value
    assert isinstance(call, ast.Call)
    names = ("parallel_iterations", "swap_memory", "maximum_iterations", "shape_invariants")
    named = [ast.keyword(name, value) for name, value in zip(names, call.args, strict=False)]
    call.keywords = [*named, *call.keywords]
    call.args = []
    call.func = ast.copy_location(
        ast.Attribute(ast.Name("ag__", ast.Load()), "loop_options", ast.Load()), node
    )
    return ast.fix_missing_locations(call)
