"""Read YAML or JSON text as one mapping, and report faults that YAML itself lets pass.

If a key is written twice (two chiefs), YAML drops its first value. If an anchor contains itself,
the document has no end. Both are found in YAML's nodes, before they become values.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from capstan_operator.errors import Fault, Invalid


def read(text: str) -> tuple[Mapping[str, Any], tuple[Fault, ...]]:
    """Return the document, and its faults so far.

    Raises errors.Invalid if the text is not YAML, not one document, or not a mapping.
    """
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise _not_a_mapping(node)
        faults = tuple(_Walk().faults(node, ""))
        return loader.construct_document(node), faults
    except yaml.composer.ComposerError as error:
        raise Invalid((Fault("", _second_document(error) or _syntax(error)),)) from error
    except yaml.MarkedYAMLError as error:
        raise Invalid((Fault("", _syntax(error)),)) from error
    except yaml.YAMLError as error:
        raise Invalid((Fault("", f"is not valid YAML: {' '.join(str(error).split())}"),)) from error
    except RecursionError as error:
        raise Invalid((Fault("", "is nested too deeply"),)) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # PyYAML raises these for malformed dates, numbers and tagged values.
        message = f"has a value that YAML cannot convert ({error}); put it in quotes"
        raise Invalid((Fault("", message),)) from error


class _Walk:
    """A walk that visits each node once. With aliases, few lines may stand for very many values."""

    def __init__(self) -> None:
        self._inside: list[yaml.Node] = []
        self._walked: set[int] = set()

    def faults(self, node: yaml.Node, path: str) -> Iterator[Fault]:
        """Yield a fault for each key that is given twice. Raises Invalid for an endless anchor."""
        if any(node is outer for outer in self._inside):
            raise Invalid((Fault(path, f"contains itself (line {_line(node)})"),))
        if id(node) in self._walked:
            return
        self._walked.add(id(node))
        self._inside.append(node)
        if isinstance(node, yaml.SequenceNode):
            for index, member in enumerate(node.value):
                yield from self.faults(member, f"{path}[{index}]")
        if isinstance(node, yaml.MappingNode):
            yield from self._of_mapping(node, path)
        self._inside.pop()

    def _of_mapping(self, node: yaml.MappingNode, path: str) -> Iterator[Fault]:
        first: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            here = f"{path}.{name}" if path else name
            if name in first:
                lines = f"on line {first[name]} and on line {_line(key)}"
                yield Fault(here, f"is given twice, {lines}; keep one")
            elif name:
                first[name] = _line(key)
            yield from self.faults(value, here)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _not_a_mapping(node: yaml.Node | None) -> Invalid:
    problem = "is empty" if node is None else "is not a mapping"
    return Invalid((Fault("", f"{problem}; a TrainingJob begins with `apiVersion:` and `kind:`"),))


def _second_document(error: yaml.composer.ComposerError) -> str:
    """Return the message for a second document, or "" for any other error."""
    if error.problem != "but found another document" or error.problem_mark is None:
        return ""
    line = error.problem_mark.line + 1
    return f"has another document on line {line}; write each job into a file of its own"


def _syntax(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f" on line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    problem = " ".join(part for part in (error.context, error.problem) if part)
    return f"is not valid YAML{where}: {problem}"
