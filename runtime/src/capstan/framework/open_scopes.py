"""The scopes that a thread has open on a graph, such as those of devices and control inputs."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from capstan.core import devices

DeviceFunction = Callable[[Any], "str | devices.DeviceSpec | None"]


@dataclass(slots=True)
class Dependencies:
    """One `control_dependencies` block: its control inputs, and the operations created in it.

    A block that `is_cleared` (`control_dependencies(None)`) hides the blocks around it.
    """

    inputs: tuple[Any, ...]
    is_cleared: bool = False
    members: set[Any] = field(default_factory=set)


class ControlFlowContext(Protocol):
    """The conditional or loop that is being built. See `framework.control_context`."""

    @property
    def outer(self) -> Any: ...

    def admit_operation(
        self, row: Any, inputs: Sequence[Any], control: Sequence[Any]
    ) -> tuple[Any, list[Any], list[Any]]: ...

    def note(self, op: Any) -> None: ...


class Scopes(threading.local):
    """The scopes that the current thread has open on one graph."""

    def __init__(self) -> None:
        self.name = ""
        self.container = ""
        self.gradients: dict[str, str] = {}
        # A None hides the entries before it.
        self.devices: tuple[DeviceFunction | None, ...] = ()
        # Operations, or groups (`loc:@name`) of operations that do not exist yet.
        self.colocated: tuple[Any, ...] = ()
        self.dependencies: tuple[Dependencies, ...] = ()
        self.control_flow_context: Any = None
        # The creators of variables with their priorities. The last is called first.
        self.creators: tuple[tuple[int, Callable[..., Any]], ...] = ()

    def device_functions(self) -> Iterator[DeviceFunction]:
        """Iterate over the device functions that apply to a new operation, innermost first."""
        for function in reversed(self.devices):
            if function is None:
                return
            yield function

    def control_inputs(self, producers: Iterable[Any]) -> list[Any]:
        """Return the control inputs of a new operation whose data inputs come from `producers`.

        A `control_dependencies` block adds no control inputs if the operation reads a member of the
        block, because the member waits for them already.
        """
        if not self.dependencies:
            return []
        read = set(producers)
        wanted: dict[Any, None] = {}
        for block in self.open_blocks():
            if not read & block.members:
                wanted.update(dict.fromkeys(op for op in block.inputs if op not in read))
        return list(wanted)

    def note(self, op: Any) -> None:
        """Make `op` a member of the open blocks, because it waits for their control inputs."""
        for block in self.open_blocks():
            block.members.add(op)

    def open_blocks(self) -> tuple[Dependencies, ...]:
        for index in range(len(self.dependencies) - 1, -1, -1):
            if self.dependencies[index].is_cleared:
                return self.dependencies[index + 1 :]
        return self.dependencies
