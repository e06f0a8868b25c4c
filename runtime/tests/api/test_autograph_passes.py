"""The pure parts of the conversion: symbols, liveness, jumps and the lines of the program."""

import ast
import textwrap

import pytest

from capstan.api.autograph import conversion, jumps, source, symbols


def function(text: str) -> ast.FunctionDef:
    (node,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(node, ast.FunctionDef)
    return node


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = y = 1", ["x", "y"]),
        ("(a, [b, *c]) = d", ["a", "b", "c"]),
        ("self.x = z[0] = 1", ["self.x", "z[:]"]),
        ("self.x['a'][i] += 1", ["self.x[:]"]),
        ("f()[0] = x[i][0] = 1", ["x[:]"]),
        ("x.append(1)", ["x[:]"]),
        ("ag__.call(x.y.update, (z,), {})", ["x.y[:]"]),
        ("x.reshape(1)", []),
        ("f().x = 1", []),
        ("x += 1", ["x"]),
        ("for i, j in k: l = 1", ["i", "j", "l"]),
        ("with a as b: pass", ["b"]),
        ("import a.b, c as d", ["a", "d"]),
        ("def f(x): y = 1", ["f"]),
        ("g = lambda x: (y := x)", ["g"]),
        ("z = [(w := x) for x in y]", ["z", "w"]),
        ("try: pass\nexcept E as e: pass", ["e"]),
    ],
)
def test_the_symbols_that_a_statement_assigns(text: str, names: list[str]) -> None:
    assert symbols.assigned(ast.parse(text).body) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = y + z.w", {"y", "z"}),
        ("x += 1", {"x"}),
        ("lambda a, b=c: a + d", {"c", "d"}),
        ("[a + b for a in c]", {"b", "c"}),
        ("def f(a, b=c):\n  d = a + e\n  return d", {"c", "e"}),
        ("x[i] = 1", {"x", "i"}),
    ],
)
def test_the_names_that_a_statement_reads(text: str, names: set[str]) -> None:
    assert symbols.read(ast.parse(text).body) == names


def test_a_loop_passes_on_what_a_later_iteration_or_statement_reads() -> None:
    tree = function(
        """
        def f(n):
            i = 0
            while i < n:
                temporary = i * 2
                last = temporary
                i += 1
            return last
        """
    )
    loop = tree.body[1]
    live = symbols.Liveness.of(tree).around[loop]
    assert {"i", "n", "last"} <= live
    assert "temporary" not in live


def test_what_an_inner_function_reads_lives_until_its_call() -> None:
    tree = function(
        """
        def f(x):
            def g():
                return y
            if x:
                y = 1
            return g()
        """
    )
    assert "y" in symbols.Liveness.of(tree).after[tree.body[1]]


JUMPS = """
def f(x):
  if x > 1:
    return 1
  return 2

def f(x):
  if x > 3:
    return 1
  elif x > 1:
    x = 7
  else:
    return 3
  return x

def f(x):
  for i in range(9):
    if i > x:
      return i
  return -1

def f(x):
  y = 0
  while True:
    y += 1
    if y < x:
      continue
    break
  return y

def f(x):
  for i in range(3):
    if i == x:
      break
  else:
    return 9
  return i

def f(x):
  try:
    if x > 2:
      return 5
    x = 1 // x
  except ZeroDivisionError:
    return 6
  finally:
    x = 8
  return x

def f(x):
  for i in range(4):
    for j in range(4):
      if i * j == x:
        return i, j
      if j > i:
        break
    if i > x:
      continue
  return None

def f(x):
  if x > 2:
    return
"""


@pytest.mark.parametrize("text", JUMPS.strip().split("\n\n"))
def test_a_function_without_jumps_does_the_same(text: str) -> None:
    class Operators:
        Undefined = staticmethod(lambda name: None)
        result = staticmethod(lambda value: value)

    tree = function(text)
    jumps.lower(tree)
    inner = [node for node in ast.walk(tree) if isinstance(node, ast.Break | ast.Continue)]
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    assert not inner
    assert len(returns) == 1
    before: dict[str, object] = {}
    exec(text, before)
    # The attribute `extra_test` of a loop is not Python, so `break` stands for it here.
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and hasattr(node, "extra_test"):
            item = ast.Name("item", ast.Store())
            stop = ast.If(ast.UnaryOp(ast.Not(), node.extra_test), [ast.Break()], [])
            taken = ast.Assign([node.target], ast.Name("item", ast.Load()))
            node.target, node.body = item, [stop, taken, *node.body]
    module = ast.fix_missing_locations(ast.Module([tree], []))
    after: dict[str, object] = {"ag__": Operators}
    exec(compile(module, "lowered", "exec"), after)
    for x in range(5):
        assert after["f"](x) == before["f"](x)  # type: ignore[operator]


def first(x: int) -> int: return x + 1  # fmt: skip


second, third = (lambda x: x * 2), (lambda x: x * 3)  # fmt: skip


def test_a_lambda_is_found_among_others_in_its_line() -> None:
    assert "x * 2" in conversion.text(second)
    assert "x * 3" in conversion.text(third)
    assert source.definition(first.__code__).name == "first"


def test_a_generator_is_not_converted() -> None:
    def counted() -> object:
        yield 1

    with pytest.raises(ValueError, match="generators and coroutines are not converted"):
        source.definition(counted.__code__)
