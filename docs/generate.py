"""Generate parts of the pages in docs/ and charts/, and files in crds/ and charts/, from the code.

    generate.py            write the generated parts and files
    generate.py --check    write nothing; show the changes, and exit 1 if there are any

A generated part of a page begins with a line `<!-- generated: NAME -->` and ends with a line
`<!-- end -->`. The function of NAME in `SOURCES` returns the text between them. The other parts of
a page are written by hand.
"""

import ast
import configparser
import difflib
import importlib
import json
import pathlib
import re
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

import chart
import commands
import names
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"(?P<begin><!-- generated: (?P<name>[^>]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def main() -> int:
    """Generate or check everything; return the exit status."""
    texts = {ROOT / name: source() for name, source in FILES.items()}
    for page in (*ROOT.glob("docs/**/*.md"), *ROOT.glob("charts/*/*.md")):
        texts[page] = BLOCK.sub(_filled, page.read_text(encoding="utf-8"))
    stale = sum(_put(file, text) for file, text in sorted(texts.items()))
    if stale and "--check" in sys.argv[1:]:
        print("generated files are out of date: run `make generate`", file=sys.stderr)
        return 1
    return 0


def _put(file: pathlib.Path, new: str) -> bool:
    """Write a file, or show the changes with --check. Return whether the file is out of date."""
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
    """Return a table of the layers of one half, from `.importlinter`, the highest first.

    The table describes each module with the first line of the module's docstring.
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
    """Return a table of all operations: inputs, outputs, types, GPU, gradient and oracle."""
    opdef = importlib.import_module("capstan.framework.opdef")
    importlib.import_module("capstan")
    oracle = _oracle()
    rows = [
        "| operation | inputs | outputs | types | GPU | gradient | oracle |",
        "|---|---|---|---|---|---|---|",
    ]
    # Only the compiler makes the operations whose names begin with an underscore.
    for row in (row for row in opdef.all_rows() if row.name[0] != "_"):
        gradient = "yes" if row.gradient else "none" if row.not_differentiable else ""
        inputs, outputs = (_code(arguments) for arguments in (row.inputs, row.outputs))
        types = "; ".join(f"`{name}` {_types(allowed)}" for name, allowed in row.types.items())
        test = oracle.get(row.name, "")
        on_gpu = _on_gpu(row.name)
        rows.append(
            f"| `{row.name}` | {inputs} | {outputs} | {types} | {on_gpu} | {gradient} | {test} |"
        )
    return "\n".join([*rows, ""])


def _on_gpu(operation: str) -> str:
    """Return the types that the GPU kernels of an operation serve, or `yes` for all types."""
    registry = importlib.import_module("capstan.kernels.registry")
    found: dict[str, set[Any]] = {}
    kernels = registry.rows(operation, "GPU")
    for kernel in kernels:
        for name, allowed in kernel.types.items():
            found.setdefault(name, set()).update(allowed)
    served = "; ".join(f"`{name}` {_types(_in_order(found[name]))}" for name in sorted(found))
    return served or ("yes" if kernels else "")


def _in_order(allowed: Collection[Any]) -> Sequence[Any]:
    """Return element types, the numeric ones first, in the order of the other columns."""
    numeric = importlib.import_module("capstan.framework.ops.typesets").NUMERIC
    rest = sorted(set(allowed).difference(numeric), key=lambda dtype: str(dtype.name))
    return [*(dtype for dtype in numeric if dtype in allowed), *rest]


def _oracle() -> dict[str, str]:
    """Return the kind of test that compares each operation with TensorFlow."""
    sys.path.insert(0, str(ROOT / "runtime" / "tests"))
    cases = importlib.import_module("op_cases")
    scenarios = importlib.import_module("oracle_scenarios")
    programs = {op for _, about in scenarios.SCENARIOS.values() for op in about}
    for file, operations in cases.ELSEWHERE.items():
        if file.startswith("oracle/"):
            programs |= operations
    return {
        **dict.fromkeys(cases.CASES, "calls"),
        **dict.fromkeys(programs, "programs"),
        **dict.fromkeys(scenarios.CLIENT, "client"),
        **dict.fromkeys(scenarios.DRAWN, "distribution"),
    }


def _types(allowed: Sequence[Any]) -> str:
    """Return the names of element types. One word stands for a group such as the numeric types."""
    typesets = importlib.import_module("capstan.framework.ops.typesets")
    names = [dtype.name for dtype in allowed]
    for group, word in (
        (typesets.COMPLEX, "complex"),
        (typesets.NUMERIC, "numeric"),
        (typesets.FLOATING, "floating"),
    ):
        members = [dtype.name for dtype in group]
        if set(members) <= set(names):
            names = [word, *(name for name in names if name not in members)]
    return ", ".join(names)


def rules(_: str) -> str:
    """Return a table of the rules about several fields of a TrainingJob."""
    table = importlib.import_module("capstan_operator.api.rules").RULES
    rows = [f"| `{rule.path}` | {_plain(rule.message)} |" for rule in table]
    return "\n".join(["| field | rule |", "|---|---|", *rows, ""])


def fields(path: str) -> str:
    """Return a table of the fields at `path` in a TrainingJob, as `kubectl explain` shows them."""
    node = _schema()
    for name in path.split("."):
        node = node["additionalProperties"] if name == "*" else node["properties"][name]
        node = node.get("items", node)
    if path.startswith("status"):
        rows = ["| field | |", "|---|---|"]
        rows += [
            f"| `{name}` | {_plain(field['description'])} |"
            for name, field in node["properties"].items()
        ]
        return "\n".join([*rows, ""])
    rows = ["| field | default | |", "|---|---|---|"]
    for name, field in node["properties"].items():
        required = "required" if name in node.get("required", ()) else ""
        default = f"`{field['default']}`" if field.get("default") not in (None, {}) else required
        rows.append(f"| `{name}` | {default} | {_plain(field['description'])} |")
    return "\n".join([*rows, ""])


def columns(_: str) -> str:
    """Return a table of the columns of `kubectl get tjob`."""
    table = importlib.import_module("capstan_operator.api.crd").COLUMNS
    rows = [f"| {name.upper()} | `{path[1:]}` |" for name, _, path, _ in table]
    return "\n".join(["| column | field |", "|---|---|", *rows, ""])


def _plain(text: str) -> str:
    """Escape a text, so that Markdown does not read <name> as HTML."""
    return text.replace("<", "&lt;")


def _schema() -> dict[str, Any]:
    crd = importlib.import_module("capstan_operator.api.crd").definition()
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def definition() -> str:
    """Return the CustomResourceDefinition of TrainingJobs as YAML."""
    crd = importlib.import_module("capstan_operator.api.crd").definition()
    # JSON copies each object. YAML would otherwise write an object that occurs twice as an alias.
    plain = json.loads(json.dumps(crd))
    head = "# The definition of TrainingJobs. Written by `make generate`; do not edit.\n"
    return head + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def _code(arguments: Sequence[str]) -> str:
    return ", ".join(f"`{argument}`" for argument in arguments)


SOURCES: dict[str, Callable[[str], str]] = {
    "columns": columns,
    "commands": commands.reference,
    "fields": fields,
    "layers": layers,
    "names": names.sections,
    "operations": operations,
    "rules": rules,
    "values": lambda _: chart.values_table(),
}

FILES: dict[str, Callable[[], str]] = {
    "charts/capstan/templates/crd.yaml": lambda: chart.crd_template(definition()),
    "charts/capstan/values.schema.json": chart.schema,
    "crds/trainingjobs.capstan.dev.yaml": definition,
}


if __name__ == "__main__":
    sys.exit(main())
