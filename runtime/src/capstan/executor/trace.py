"""Record when each node of a part runs in a traced step.

A traced part is compiled separately from the part that runs without a trace. In its module, the
lines of each node stand between two lines that take the time:

        z3 = k1()                         # 'dense/MatMul'
        t0_0 = k2(f0, b0)                 # 'dense/MatMul'
        k0(3, z3, (t0_0, ))               # 'dense/MatMul'

`k0` is the `Recorder` of the step, so each context of the part has a recorder of its own. A node of
a loop is recorded in each iteration. A node in a branch that is not taken is not recorded.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from capstan.core import dtypes, step_stats
from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.executor import loops, source
from capstan.graph import guards, infer
from capstan.partition import parts
from capstan.resources import variable

_MOST = 1 << 20
"""The largest number of executions that a part records, as TensorFlow's kMaxCollectedNodes."""

_SAMPLES = 5
"""How many times a step compares the wall clock with `perf_counter`. The number is a guess."""


class _Noted(NamedTuple):
    """One execution of a node, in nanoseconds of `time.perf_counter_ns`."""

    node: ir.Node
    started_ns: int
    ended_ns: int
    thread: int
    outputs: Sequence[step_stats.Output | None]


def begin(out: source.Writer) -> None:
    """Prepare the empty writer `out` for the module of a traced part."""
    assert not out.bound
    out.timed = []
    out.bind(None)  # This name is k0, which `TracedProgram` binds to the recorder of a step.
    out.bind(time.perf_counter_ns)


REPORT = "k0.report()"
"""The expression for the report of a traced part."""


def write(node: ir.Node, write_node: Callable[[ir.Node], None], scope: loops.Scope) -> None:
    """Write a node of a traced part, with the lines that take the times."""
    out = scope.out
    assert out.timed is not None
    number = len(out.timed)
    out.timed.append(node)
    out.statement(f"z{number} = k1()", node.name, "")
    write_node(node)
    outputs = [ir.Edge(node.name, index) for index in range(len(infer.tensors(node)[1]))]
    held = [scope.values.get(edge, "None") for edge in outputs]
    # A switch runs whatever its decision is, but each of its outputs is alive on one side only.
    runs = node.inputs[1] if guards.is_switch(node) else ir.Edge(node.name)
    text = f"k0({number}, z{number}, ({source.items(held)}))"
    out.statement(text, node.name, scope.branches.condition(runs))


class Recorder:
    """Records the times of a part in one step. Thread-safe."""

    def __init__(self, part: parts.Part, timed: Sequence[ir.Node]) -> None:
        """`timed` are the nodes by number, as in `source.Code`. The step starts with this call."""
        self._part = part
        self._timed = timed
        # The system may suspend the thread between the two readings. The difference is then too
        # small, so the largest difference is the best.
        self._offset_ns = max(time.time_ns() - time.perf_counter_ns() for _ in range(_SAMPLES))
        self._started_ns = time.perf_counter_ns()
        self._noted: list[_Noted] = []
        self._transfers: dict[str, list[step_stats.Execution]] = {}
        self._iterations: list[step_stats.Report] = []

    def __call__(self, number: int, started_ns: int, outputs: Sequence[Any]) -> None:
        """Record that node `number`, which started at `started_ns`, has just ended."""
        self.note(self._timed[number], started_ns, outputs)

    def note(self, node: ir.Node, started_ns: int, outputs: Sequence[Any]) -> None:
        """Record that `node` has just ended. Times are results of `time.perf_counter_ns`."""
        ended_ns = time.perf_counter_ns()
        if len(self._noted) < _MOST:
            described = [*map(_described, outputs)]
            thread = threading.get_native_id()
            self._noted.append(_Noted(node, started_ns, ended_ns, thread, described))

    def sent(self, message: parts.Message, values: Sequence[Any]) -> None:
        """Record that the task sends the tensors of a message now."""
        now = self._offset_ns + time.perf_counter_ns()
        producers = {node.name: node.device for node in self._part.nodes}
        for edge, value in zip(message.edges, values, strict=False):
            size = getattr(value, "nbytes", 0)
            noted = step_stats.sent(_tensor(edge), size, now)
            self._transfers.setdefault(self._device(producers.get(edge.node, "")), []).append(noted)

    def arrived(self, message: parts.Message) -> None:
        """Record that a message has arrived."""
        now = self._offset_ns + time.perf_counter_ns()
        readers = {edge: node.device for node in self._part.nodes for edge in node.inputs}
        for edge in message.edges:
            noted = step_stats.received(_tensor(edge), now)
            self._transfers.setdefault(self._device(readers.get(edge, "")), []).append(noted)

    def iterated(self, report: step_stats.Report) -> None:
        """Record the report of the iterations of a loop that ran as separate steps."""
        self._iterations.append(report)

    def report(self) -> Array:
        """Return the report of the part: one string, a serialised StepStats."""
        started = self._offset_ns + self._started_ns
        devices: dict[str, list[step_stats.Execution]] = {}
        for node in self._part.nodes:
            found = devices.setdefault(self._device(node.device), [step_stats.source(started)])
            if is_bound(node):
                # The generated code holds the constant's value, so the node takes no time.
                found.append(
                    step_stats.Execution(
                        node.name,
                        _label(node),
                        started,
                        started,
                        outputs=[_described(node.attrs["value"])],
                    )
                )
        for noted in self._noted:
            found = devices.setdefault(self._device(noted.node.device), [])
            found.append(self._execution(noted))
        for device, transfers in list(self._transfers.items()):
            devices.setdefault(device, []).extend(transfers)
        stats = step_stats.encode(devices)
        for report in self._iterations:
            stats.MergeFrom(report.stats)
        return np.array(stats.SerializeToString(), dtype=object)

    def _execution(self, noted: _Noted) -> step_stats.Execution:
        return step_stats.Execution(
            noted.node.name,
            _label(noted.node),
            self._offset_ns + noted.started_ns,
            self._offset_ns + noted.ended_ns,
            noted.thread,
            noted.outputs,
        )

    def _device(self, name: str) -> str:
        """Return the full name of a device. The device of a copied constant names only a task."""
        return name if "/device:" in name else f"{self._part.task}/device:CPU:0"


def is_bound(node: ir.Node) -> bool:
    """Return whether `node` is a constant that is bound to the code, so that no step runs it."""
    return infer.is_constant(node) and not node.control


def _tensor(edge: ir.Edge) -> str:
    return edge.node if edge.index == 0 else edge.tensor


def _label(node: ir.Node) -> str:
    """Return TensorFlow's text for a node: `total = Add(x, y:1, ^init)`."""
    inputs = [*map(_tensor, node.inputs), *(f"^{name}" for name in node.control)]
    return f"{node.name} = {node.op}({', '.join(inputs)})"


def _described(value: Any) -> step_stats.Output | None:
    """Return the dtype, shape, size and address of an output. Return None for other objects.

    If the output is a variable, describe its value. Return None if the variable has no value, or if
    the output is the handle of another resource, such as a queue.
    """
    if isinstance(value, variable.Variable):
        value = value.array
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype == dtypes.np_resource or not hasattr(value, "nbytes"):
        return None
    address = 0
    if isinstance(value, np.ndarray):
        address = value.__array_interface__["data"][0]
    number = dtypes.as_dtype(dtype).as_datatype_enum
    return step_stats.Output(number, tuple(value.shape), int(value.nbytes), address)
