"""YAML or JSON text to one mapping, with what YAML itself would silently let pass as faults.

A key written twice (two chiefs) would lose its first value, and an anchor inside itself would make
a document without end: both are found on YAML's nodes, before there are values.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from capstan_operator.errors import Fault, Invalid


def read(text: str) -> tuple[Mapping[str, Any], tuple[Fault, ...]]:
    """Return the document, and faults that do not keep it from being read further.

    Raises errors.Invalid when it cannot be: no YAML, more than one document, no mapping.
    """
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise _no_mapping(node)
        faults = tuple(_node_faults(node, "", ()))
        if any(fault.message.startswith(ENDLESS) for fault in faults):
            raise Invalid(faults)
        return loader.construct_document(node), faults
    except yaml.MarkedYAMLError as error:
        raise Invalid((Fault("", _syntax(error)),)) from error
    except yaml.YAMLError as error:
        raise Invalid((Fault("", f"is no YAML: {' '.join(str(error).split())}"),)) from error
    except RecursionError as error:
        raise Invalid((Fault("", "is nested too deeply"),)) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # PyYAML converts dates, numbers and tagged values without minding that they may be none.
        message = f"has a value that YAML cannot convert ({error}); put it in quotes"
        raise Invalid((Fault("", message),)) from error


ENDLESS = "contains itself"


def _node_faults(node: yaml.Node, path: str, inside: tuple[yaml.Node, ...]) -> Iterator[Fault]:
    if any(node is outer for outer in inside):
        yield Fault(path, f"{ENDLESS}, through the alias on line {_line(inside[-1])}")
        return
    inside = (*inside, node)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _node_faults(item, f"{path}[{index}]", inside)
    if isinstance(node, yaml.MappingNode):
        first: dict[object, int] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            here = f"{path}.{name}" if path else str(name)
            if isinstance(key, yaml.ScalarNode) and name in first:
                lines = f"on line {first[name]} and on line {_line(key)}"
                yield Fault(here, f"is given twice, {lines}; keep one")
            first.setdefault(name, _line(key))
            yield from _node_faults(value, here, inside)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _no_mapping(node: yaml.Node | None) -> Invalid:
    what = "is empty" if node is None else "is no mapping"
    return Invalid((Fault("", f"{what}; a TrainingJob begins with `apiVersion:` and `kind:`"),))


def _syntax(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f" on line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    problem = " ".join(part for part in (error.context, error.problem) if part)
    return f"is no YAML that can be read{where}: {problem}"
