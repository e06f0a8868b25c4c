"""Write the parts of docs/ that follow from the code, between the marks that name them.

    generate.py            write them
    generate.py --check    change nothing; show what would change, and exit 1 if anything would

A page holds a line `<!-- generated: NAME -->`, then what NAME's function below returns, then a line
`<!-- end -->`. Everything outside the marks is written by hand.
"""

import ast
import configparser
import difflib
import importlib
import pathlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"(?P<begin><!-- generated: (?P<name>[^>]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def main() -> int:
    """Generate or check every page; return the exit status."""
    stale = 0
    for page in sorted(ROOT.glob("docs/**/*.md")):
        old = page.read_text(encoding="utf-8")
        new = BLOCK.sub(_filled, old)
        if new == old:
            continue
        stale += 1
        name = str(page.relative_to(ROOT))
        if "--check" in sys.argv[1:]:
            lines = difflib.unified_diff(
                old.splitlines(keepends=True), new.splitlines(keepends=True), name, "as generated"
            )
            sys.stdout.writelines(lines)
        else:
            page.write_text(new, encoding="utf-8")
            print(f"wrote {name}")
    if stale and "--check" in sys.argv[1:]:
        print("generated documentation is out of date: run `make generate`", file=sys.stderr)
        return 1
    return 0


def _filled(block: re.Match[str]) -> str:
    source, _, argument = block["name"].partition(" ")
    return f"{block['begin']}{SOURCES[source](argument)}{block['end']}"


def layers(half: str) -> str:
    """Draw the layers of one half as `.importlinter` has them, the highest first.

    What each is for is the first line of its own docstring.
    """
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    contract = contracts[f"importlinter:contract:{half}-layers"]
    package = ROOT / half / "src" / contract["containers"].strip()
    rows = []
    for layer in filter(None, contract["layers"].split("\n")):
        members = [name.strip(" ()") for name in re.split("[|:]", layer)]
        rows.append("<br>".join(f"`{name}` {_purpose(package / name)}" for name in members))
    return "\n".join(["| |", "|---|", *(f"| {row} |" for row in rows), ""])


def _purpose(module: pathlib.Path) -> str:
    source = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def operations(_: str) -> str:
    """List every operation that Capstan has: what it takes, its gradient, its tests."""
    opdef = importlib.import_module("capstan.framework.opdef")
    importlib.import_module("capstan")
    oracle = _oracle()
    rows = [
        "| operation | inputs | outputs | types | gradient | oracle |",
        "|---|---|---|---|---|---|",
    ]
    for row in opdef.all_rows():
        gradient = "yes" if row.gradient else "none" if row.not_differentiable else ""
        inputs, outputs = (_code(arguments) for arguments in (row.inputs, row.outputs))
        types = "; ".join(f"`{name}` {_types(allowed)}" for name, allowed in row.types.items())
        held = oracle.get(row.name, "")
        rows.append(f"| `{row.name}` | {inputs} | {outputs} | {types} | {gradient} | {held} |")
    return "\n".join([*rows, ""])


def _oracle() -> dict[str, str]:
    """How each operation is held to TensorFlow, from the tables of the tests that do it."""
    sys.path.insert(0, str(ROOT / "runtime" / "tests"))
    calls = importlib.import_module("op_cases").CASES
    scenarios = importlib.import_module("oracle_scenarios")
    programs = {op for _, about in scenarios.SCENARIOS.values() for op in about}
    return {
        **dict.fromkeys(calls, "calls"),
        **dict.fromkeys(programs, "programs"),
        **dict.fromkeys(scenarios.CLIENT, "client"),
        **dict.fromkeys(scenarios.DRAWN, "distribution"),
    }


def _types(allowed: Sequence[Any]) -> str:
    """Name element types, groups of them by one word."""
    typesets = importlib.import_module("capstan.framework.ops.typesets")
    names = [dtype.name for dtype in allowed]
    for group, word in ((typesets.NUMERIC, "numeric"), (typesets.FLOATING, "floating")):
        members = [dtype.name for dtype in group]
        if set(members) <= set(names):
            names = [word, *(name for name in names if name not in members)]
    return ", ".join(names)


def rules(_: str) -> str:
    """List what no single field of a TrainingJob can know."""
    table = importlib.import_module("capstan_operator.api.rules").RULES
    rows = [f"| `{rule.path}` | {rule.message} |" for rule in table]
    return "\n".join(["| field | rule |", "|---|---|", *rows, ""])


def _code(arguments: Sequence[str]) -> str:
    return ", ".join(f"`{argument}`" for argument in arguments)


SOURCES: dict[str, Callable[[str], str]] = {
    "layers": layers,
    "operations": operations,
    "rules": rules,
}


if __name__ == "__main__":
    sys.exit(main())
