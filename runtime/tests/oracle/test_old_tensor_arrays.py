"""TensorArrays of old graphs, whose handles are strings, give the values of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

ROWS = np.float32([[1, 2], [3, 4], [5, 6]])


class Graph:
    """A GraphDef of a version of before TensorFlow 1.0, with arrays of the first or second kind."""

    def __init__(self, v1: Any, suffix: str) -> None:
        self.definition = v1.GraphDef()
        self.definition.versions.producer = 9
        self._v1, self._suffix = v1, suffix

    def constant(self, value: Any) -> str:
        made = self.definition.node.add(name=f"c{len(self.definition.node)}", op="Const")
        tensor = self._v1.make_tensor_proto(value)
        made.attr["dtype"].type = tensor.dtype
        made.attr["value"].tensor.CopyFrom(tensor)
        return str(made.name)

    def array(self, name: str, op: str, *inputs: Any, **attrs: Any) -> str:
        """Add an operation of arrays. Numbers and arrays among the inputs become constants."""
        made = self.definition.node.add(name=name, op=f"TensorArray{op}")
        if op not in ("Pack", "Unpack"):
            made.op += self._suffix
        made.input.extend(each if isinstance(each, str) else self.constant(each) for each in inputs)
        for key, value in attrs.items():
            field = {bool: "b", bytes: "s"}.get(type(value), "type")
            setattr(made.attr[key], field, value)
        return name

    def values(self, target: str, *fetches: str) -> list[Any]:
        v1 = self._v1
        with v1.Graph().as_default(), v1.Session(target) as session:
            v1.import_graph_def(self.definition, name="")
            return list(session.run(fetches))


def filled(graph: Graph, name: str) -> str:
    """Add an array of three rows. Return the flow of the last write."""
    graph.array(name, "", np.int32(3), dtype=1, clear_after_read=False)
    flow: Any = np.float32(0)
    for index, row in enumerate(ROWS):
        flow = graph.array(f"{name}/{index}", "Write", name, np.int32(index), row, flow, T=1)
    return str(flow)


def every_part(graph: Graph) -> list[str]:
    order, flow = np.int32([2, 0, 1]), filled(graph, "a")
    fetches = [
        graph.array("read", "Read", "a", np.int32(1), flow, dtype=1),
        graph.array("gathered", "Gather", "a", order, flow, dtype=1),
        graph.array("joined", "Concat", "a", flow, dtype=1),
        graph.array("size", "Size", "a", flow),
    ]
    for name, op, inputs in (
        ("scattered", "Scatter", [order, ROWS]),
        ("split", "Split", [ROWS, np.int64([1, 0, 2])]),
    ):
        handle = graph.array(f"of_{name}", "", np.int32(3), dtype=1)
        flow = graph.array(name, op, handle, *inputs, np.float32(0), T=1)
        fetches.append(graph.array(f"first_{name}", "Read", handle, np.int32(0), flow, dtype=1))
        graph.array(f"close_{name}", "Close", handle, f"^first_{name}")
    return [*(f"{each}:0" for each in fetches), "joined:1"]


def gradient(graph: Graph) -> list[str]:
    """Writes of gradients to one place are added."""
    flow = filled(graph, "a")
    graph.array("grad", "Grad", "a", flow, source=b"gradients")
    for name in ("one", "two"):
        flow = graph.array(name, "Write", "grad", np.int32(1), ROWS[1], flow, T=1)
    return [graph.array("read", "Read", "grad", np.int32(1), flow, dtype=1) + ":0"]


def packed(graph: Graph) -> list[str]:
    fetches = [graph.array("packed", "Pack", "a", filled(graph, "a"), dtype=1)]
    for name, size, is_dynamic in (("fixed", 3, False), ("grown", 1, True)):
        handle = graph.array(name, "", np.int32(size), dtype=1, dynamic_size=is_dynamic)
        flow = graph.array(f"{name}_flow", "Unpack", handle, ROWS, np.float32(0), T=1)
        fetches.append(graph.array(f"{name}_size", "Size", handle, flow))
        fetches.append(graph.array(f"{name}_read", "Read", handle, np.int32(2), flow, dtype=1))
    return [f"{each}:0" for each in fetches]


@pytest.mark.parametrize(
    ("suffix", "build"),
    [("", every_part), ("V2", every_part), ("V2", gradient), ("", packed)],
)
def test_old_arrays_have_the_values_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, suffix: str, build: Any
) -> None:
    graph = Graph(v1, suffix)
    fetches = build(graph)
    expected, found = (graph.values(target, *fetches) for target in ("", tasks.target()))
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize("count", [2, 4])
def test_unpacked_values_must_fill_the_array(v1: Any, tasks: genuine.Tasks, count: int) -> None:
    graph = Graph(v1, "")
    graph.array("a", "", np.int32(3), dtype=1)
    values = np.ones((count, 2), np.float32)
    graph.array("flow", "Unpack", "a", values, np.float32(0), T=1)
    for target in ("", tasks.target()):
        with pytest.raises(v1.errors.InvalidArgumentError):
            graph.values(target, "flow:0")


def looped(v1: Any) -> Any:
    """Return a loop over arrays and its gradient, with arrays of the second kind."""
    with v1.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        x = v1.placeholder(v1.float32, [3, 2], name="x")
        rows = v1.TensorArray(v1.float32, 3, clear_after_read=False).unstack(x)

        def body(index: Any, total: Any, sums: Any) -> Any:
            total += rows.read(index) ** 2
            return index + 1, total, sums.write(index, total)

        start = (0, v1.zeros([2]), v1.TensorArray(v1.float32, 3))
        _, _, sums = v1.while_loop(lambda index, *_: index < 3, body, start)
        y = v1.identity(sums.stack(), name="y")
        v1.identity(v1.gradients(y, x)[0], name="slope")
        definition = graph.as_graph_def()
    definition.versions.producer = 25
    flow = definition.node.add(name="flow", op="Const")
    flow.attr["dtype"].type = 1
    flow.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(np.float32(0)))
    return as_second_kind(definition)


def as_second_kind(definition: Any) -> Any:
    """Replace arrays of the third kind, which return their first flow beside the handle."""
    by_name = {node.name: node for node in definition.node}

    def is_handle(node: Any) -> bool:
        """Return whether a node passes on the handle of an array, and not that of a stack."""
        if node.op == "Enter":
            return is_handle(by_name[node.input[0].partition(":")[0]])
        return node.op in ("TensorArrayV3", "TensorArrayGradV3")

    for node in definition.node:
        for place, name in enumerate(node.input):
            made = by_name[name.strip("^").partition(":")[0]]
            if name.endswith(":1") and made.op in ("TensorArrayV3", "TensorArrayGradV3"):
                node.input[place] = "flow" if made.op == "TensorArrayV3" else made.input[1]
        if node.op == "Enter" and is_handle(node):
            node.attr["T"].type = 7  # a string
    for node in definition.node:
        if node.op.startswith("TensorArray"):
            node.op = node.op.replace("V3", "V2")
            node.attr.pop("identical_element_shapes", None)
    return definition


def test_old_arrays_pass_through_loops_and_their_gradients(v1: Any, tasks: genuine.Tasks) -> None:
    definition, found = looped(v1), []
    assert "TensorArrayGradV2" in {node.op for node in definition.node}
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            v1.import_graph_def(definition, name="")
            found.append(session.run(["y:0", "slope:0"], {"x:0": ROWS}))
    for value, wanted in zip(*found, strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_old_arrays_have_no_gradients_of_their_own() -> None:
    with capstan.Graph().as_default():
        handle = capstan.raw_ops.TensorArrayV2(size=3, dtype=capstan.float32)
        value = capstan.raw_ops.TensorArrayReadV2(
            handle=handle, index=0, flow_in=capstan.constant(0.0), dtype=capstan.float32
        )
        with pytest.raises(LookupError, match="TensorArrayReadV2"):
            capstan.gradients(value, value.op.inputs[2])
