"""The placer puts every node of a graph on the device on which TensorFlow puts it."""

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import genuine
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import capstan.kernels  # noqa: F401 - fills the table
from capstan.core import graph_def
from capstan.kernels import registry
from capstan.placement import available, place

pytestmark = genuine.MARKS

TASK = "/job:localhost/replica:0/task:0"
CPUS = [f"{TASK}/device:CPU:{index}" for index in range(4)]
LINE = re.compile(r"(\S+): \((\w+)\): (/job:\S+)")

DEVICES = st.sampled_from(
    [None, None, "/cpu:0", "/cpu:1", "/cpu:2", "/cpu:3", "/gpu:0", "/job:localhost", "/task:0"]
)
OPS = st.sampled_from(
    ["Const", "Neg", "Add", "Shape", "Rank", "VariableV2", "Assign", "Identity", "VarHandleOp",
     "AssignVariableOp", "ReadVariableOp"]
)  # fmt: skip
STATELESS = frozenset({"Const", "Neg", "Add", "Shape", "Rank"})
STEPS = st.lists(
    st.tuples(OPS, DEVICES, st.integers(0, 99), st.integers(0, 99), st.booleans()),
    min_size=1,
    max_size=12,
)


class Builder:
    """Builds a graph of raw operations in the default graph."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.floats: list[Any] = [tf.constant(0.0)]
        self.refs: list[Any] = []
        self.handles: list[Any] = []

    def add(self, op: str, device: str | None, first: int, second: int, *, near: bool) -> None:
        """Add an operation. `first` and `second` choose among the tensors so far."""
        operations = self.tf.compat.v1.get_default_graph().get_operations()
        earlier = [operation for operation in operations if operation.type in STATELESS]
        target = earlier[second % len(earlier)].name
        with self.tf.compat.v1.device(device):
            made = self.make(op, first, second)
        if made is None or not near or device is not None or op not in STATELESS:
            # TensorFlow 2 resolves conflicts of colocated nodes in another way than TensorFlow 1.4.
            return
        value = self.tf.compat.v1.AttrValue()
        value.list.s.append(f"loc:@{target}".encode())
        getattr(made, "op", made)._set_attr("_class", value)

    def make(self, op: str, first: int, second: int) -> Any:
        """Return the new operation, or None if there is no variable for it yet."""
        raw, tf = self.tf.raw_ops, self.tf
        x, y = (self.floats[number % len(self.floats)] for number in (first, second))
        ref = self.refs[first % len(self.refs)] if self.refs else None
        handle = self.handles[first % len(self.handles)] if self.handles else None
        makers: dict[str, tuple[list[Any] | None, Any, Callable[[], Any]]] = {
            "Const": (self.floats, x, lambda: tf.compat.v1.constant(1.0)),
            "Neg": (self.floats, x, lambda: raw.Neg(x=x)),
            "Add": (self.floats, x, lambda: raw.Add(x=x, y=y)),
            "Shape": (None, x, lambda: raw.Shape(input=x)),
            "Rank": (None, x, lambda: raw.Rank(input=x)),
            "VariableV2": (self.refs, x, lambda: raw.VariableV2(shape=[], dtype=tf.float32)),
            "Assign": (self.refs, ref, lambda: raw.Assign(ref=ref, value=y)),
            "Identity": (self.floats, ref, lambda: raw.Identity(input=ref)),
            "VarHandleOp": (
                self.handles,
                x,
                lambda: raw.VarHandleOp(
                    dtype=tf.float32, shape=[], shared_name=f"v{len(self.handles)}"
                ),
            ),
            "AssignVariableOp": (
                None,
                handle,
                lambda: raw.AssignVariableOp(resource=handle, value=y),
            ),
            "ReadVariableOp": (
                self.floats,
                handle,
                lambda: raw.ReadVariableOp(resource=handle, dtype=tf.float32),
            ),
        }
        kept, needed, make = makers[op]
        if needed is None:
            return None
        made = make()
        if kept is not None:
            kept.append(made)
        return made


@contextlib.contextmanager
def standard_output() -> Iterator[list[str]]:
    """Collect the lines that the block writes to file descriptor 1, also from C++."""
    lines: list[str] = []
    kept = os.dup(1)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            lines += file.read().splitlines()


def by_tensorflow(tf: Any, graph: Any, *, soft: bool) -> dict[str, str] | None:
    """Return the device of each node, or None if TensorFlow refuses the graph."""
    config = tf.compat.v1.ConfigProto(
        device_count={"CPU": len(CPUS)}, log_device_placement=True, allow_soft_placement=soft
    )
    with standard_output() as lines, tf.compat.v1.Session(graph=graph, config=config) as session:
        try:
            session.run(graph.get_operations()[0])
        except tf.errors.InvalidArgumentError:
            return None
    found = (LINE.match(line) for line in lines)
    return {match[1]: match[3] for match in found if match}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, soft=st.booleans())
def test_every_node_has_the_device_that_tensorflow_gives_it(
    tf: Any, steps: Any, soft: bool
) -> None:
    with tf.Graph().as_default() as graph:
        builder = Builder(tf)
        for op, device, first, second, near in steps:
            if op == "Identity" and soft:
                continue  # With soft placement TensorFlow 2 puts some reads near their variables.
            builder.add(op, device, first, second, near=near)
    nodes = {node.name: node for node in graph_def.decode(graph.as_graph_def())}
    devices = available.Available(dict.fromkeys(CPUS, registry.listed()))
    placement = place.Placement()
    place.Placer(devices, soft).place(nodes.values(), nodes, placement)
    expected = by_tensorflow(tf, graph, soft=soft)
    note(str(graph.as_graph_def()))
    if expected is None:
        assert placement.faults
    else:
        assert (placement.devices, placement.faults) == (expected, {})
