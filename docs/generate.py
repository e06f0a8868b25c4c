"""Write what follows from the code: parts of docs/, between the marks that name them, and crds/.

    generate.py            write them
    generate.py --check    change nothing; show what would change, and exit 1 if anything would

A page holds a line `<!-- generated: NAME -->`, then what NAME's function below returns, then a line
`<!-- end -->`. Everything outside the marks is written by hand.
"""

import ast
import configparser
import difflib
import importlib
import json
import pathlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"(?P<begin><!-- generated: (?P<name>[^>]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def main() -> int:
    """Generate or check everything; return the exit status."""
    texts = {ROOT / name: source() for name, source in FILES.items()}
    for page in ROOT.glob("docs/**/*.md"):
        texts[page] = BLOCK.sub(_filled, page.read_text(encoding="utf-8"))
    stale = sum(_put(file, text) for file, text in sorted(texts.items()))
    if stale and "--check" in sys.argv[1:]:
        print("generated files are out of date: run `make generate`", file=sys.stderr)
        return 1
    return 0


def _put(file: pathlib.Path, new: str) -> bool:
    """Write a file, or show what would change. Return whether there was anything to do."""
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    name = str(file.relative_to(ROOT))
    if new == old:
        return False
    if "--check" in sys.argv[1:]:
        lines = difflib.unified_diff(
            old.splitlines(keepends=True), new.splitlines(keepends=True), name, "as generated"
        )
        sys.stdout.writelines(lines)
    else:
        file.write_text(new, encoding="utf-8")
        print(f"wrote {name}")
    return True


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
    rows = [f"| `{rule.path}` | {_plain(rule.message)} |" for rule in table]
    return "\n".join(["| field | rule |", "|---|---|", *rows, ""])


def fields(path: str) -> str:
    """List the fields of one part of a TrainingJob, as `kubectl explain` has them."""
    node = _schema()
    for name in path.split("."):
        node = node["additionalProperties"] if name == "*" else node["properties"][name]
        node = node.get("items", node)
    if path.startswith("status"):
        rows = ["| field | |", "|---|---|"]
        rows += [
            f"| `{name}` | {_plain(one['description'])} |"
            for name, one in node["properties"].items()
        ]
        return "\n".join([*rows, ""])
    rows = ["| field | default | |", "|---|---|---|"]
    for name, field in node["properties"].items():
        given = "required" if name in node.get("required", ()) else ""
        default = f"`{field['default']}`" if field.get("default") not in (None, {}) else given
        rows.append(f"| `{name}` | {default} | {_plain(field['description'])} |")
    return "\n".join([*rows, ""])


def columns(_: str) -> str:
    """List the columns of `kubectl get tjob`."""
    table = importlib.import_module("capstan_operator.api.crd").COLUMNS
    rows = [f"| {name.upper()} | `{path[1:]}` |" for name, _, path, _ in table]
    return "\n".join(["| column | field |", "|---|---|", *rows, ""])


def _plain(text: str) -> str:
    """Keep Markdown from taking <name> for HTML."""
    return text.replace("<", "&lt;")


def _schema() -> dict[str, Any]:
    crd = importlib.import_module("capstan_operator.api.crd").definition()
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def definition() -> str:
    """Write the CustomResourceDefinition of TrainingJobs."""
    crd = importlib.import_module("capstan_operator.api.crd").definition()
    # Through JSON, for YAML would refer to what stands in it twice.
    plain = json.loads(json.dumps(crd))
    head = "# What a TrainingJob is to an API server. Written by `make generate`; do not edit.\n"
    return head + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def _code(arguments: Sequence[str]) -> str:
    return ", ".join(f"`{argument}`" for argument in arguments)


SOURCES: dict[str, Callable[[str], str]] = {
    "columns": columns,
    "fields": fields,
    "layers": layers,
    "operations": operations,
    "rules": rules,
}

FILES: dict[str, Callable[[], str]] = {"crds/trainingjobs.capstan.dev.yaml": definition}


if __name__ == "__main__":
    sys.exit(main())
