"""Placement: devices, groups, soft placement, and faults of single nodes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from capstan import errors
from capstan.core import dtypes, function, kernel_list, tensor_shape
from capstan.core import node as ir
from capstan.framework import (
    opdef,
    ops,  # noqa: F401 - fills the registry
)
from capstan.placement import available, place

Edge = ir.Edge
PS = "/job:ps/replica:0/task:0/device:CPU:0"
W0 = "/job:worker/replica:0/task:0/device:CPU:0"
W1 = "/job:worker/replica:0/task:1/device:CPU:0"
GPU = "/job:worker/replica:0/task:1/device:GPU:0"


def variable(name: str, device: str = "") -> ir.Node:
    attrs = {"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([])}
    return ir.Node(name, "VariableV2", device=device, attrs=attrs)


def make(op: str, name: str, *inputs: str, device: str = "", **attrs: Any) -> ir.Node:
    return ir.Node(
        name,
        op,
        tuple(Edge(source) for source in inputs),
        (),
        device,
        {"T": dtypes.float32, "dtype": dtypes.float32, **attrs},
    )


def kernels(gpu: Iterable[str] = (), without: Iterable[str] = ()) -> kernel_list.KernelList:
    """Return the kernels of a task: all CPU kernels except `without`, and the GPU kernels `gpu`."""
    names = {row.name for row in opdef.all_rows()}
    return kernel_list.KernelList(
        [kernel_list.KernelDef(op, "CPU", {}) for op in sorted(names - set(without))]
        + [kernel_list.KernelDef(op, "GPU", {}) for op in gpu]
    )


def placer_of(
    names: Iterable[str], found: kernel_list.KernelList, *, soft: bool = False
) -> place.Placer:
    return place.Placer(available.Available(dict.fromkeys(names, found)), soft)


def placed(
    *nodes: ir.Node, soft: bool = False, gpu: frozenset[str] = frozenset()
) -> place.Placement:
    placement = place.Placement()
    placer = placer_of([W1, GPU, W0, PS], kernels(gpu), soft=soft)
    placer.place(nodes, {node.name: node for node in nodes}, placement)
    return placement


def test_a_node_without_a_device_goes_to_the_first_task_of_the_cluster() -> None:
    assert placed(make("Neg", "y", "x"), make("Placeholder", "x")).devices["y"] == PS


def test_a_partial_device_specification_is_completed() -> None:
    assert placed(make("NoOp", "x", device="/job:worker/task:1")).devices["x"] == W1


def test_the_best_device_type_with_a_kernel_is_chosen() -> None:
    on_worker = make("Neg", "x", "x0", device="/job:worker/task:1")
    given_x0 = make("Placeholder", "x0", device=PS)
    assert placed(on_worker, given_x0, gpu=frozenset({"Neg"})).devices["x"] == GPU


def test_a_node_that_changes_a_variable_goes_to_the_device_of_the_variable() -> None:
    placement = placed(
        variable("w", PS),
        make("Assign", "w/Assign", "w", "zero", device=W1),
        make("Placeholder", "zero"),
    )
    assert placement.devices["w/Assign"] == PS
    assert not placement.faults


def call(*handles: str) -> ir.Node:
    kinds = {"Tin": [dtypes.resource] * len(handles), "Tout": []}
    attrs = {**kinds, "f": function.Reference("f")}
    return ir.Node("call", "StatefulPartitionedCall", tuple(map(Edge, handles)), attrs=attrs)


def handle(name: str, device: str) -> ir.Node:
    attrs = {"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([])}
    return ir.Node(name, "VarHandleOp", device=device, attrs=attrs)


@pytest.mark.parametrize("soft", [False, True])
def test_a_call_goes_to_its_variables_only_if_they_are_on_one_device(soft: bool) -> None:
    on_ps, on_worker = handle("v", PS), handle("w", W1)
    found = placed(on_ps, on_worker, call("v", "w"), soft=soft)
    assert found.devices == {"v": PS, "w": W1, "call": PS}  # the first device of the cluster
    assert placed(on_ps, on_worker, call("w"), soft=soft).devices["call"] == W1


def test_a_node_that_reads_a_variable_keeps_its_own_device() -> None:
    assert placed(variable("w", PS), make("Identity", "read", "w", device=W1)).devices["read"] == W1


def test_a_class_attribute_colocates_nodes() -> None:
    near = make("Placeholder", "init", _class=[b"loc:@w"])
    assert placed(variable("w", W0), near).devices["init"] == W0


def test_a_source_goes_to_the_device_of_its_consumers() -> None:
    placement = placed(
        ir.Node("c", "Const", attrs={"dtype": dtypes.float32, "value": np.zeros((), np.float32)}),
        make("Neg", "y", "c", device=W1),
    )
    assert placement.devices["c"] == W1


def test_placing_new_nodes_reads_only_the_old_nodes_that_they_name() -> None:
    read: list[str] = []

    class Graph(dict[str, ir.Node]):
        def __getitem__(self, name: str) -> ir.Node:
            read.append(name)
            return super().__getitem__(name)

        def values(self) -> Any:
            raise AssertionError("the placer visits the whole graph")

        items = __iter__ = values

    placement = place.Placement()
    placer = placer_of([W0, W1], kernels())
    old = [make("Placeholder", f"x{number}") for number in range(9)]
    new = [make("Placeholder", "c"), make("Neg", "y", "c", device=W1), make("Neg", "z", "x3")]
    placer.place(old, {node.name: node for node in old}, placement)
    placer.place(new, Graph({node.name: node for node in [*old, *new]}), placement)
    assert placement.devices["c"] == W1
    assert set(read) <= {"x3", "c", "y", "z"}


def test_shape_goes_to_the_device_of_its_input() -> None:
    x = make("Placeholder", "x")
    placement = placed(x, make("Neg", "y", "x", device=W1), make("Shape", "s", "y"))
    assert placement.devices["s"] == W1


def test_shape_does_not_follow_a_node_that_follows_its_consumers() -> None:
    placement = placed(make("Placeholder", "x", device=W1), make("Shape", "s", "x"))
    assert placement.devices == {"x": W1, "s": PS}


def test_later_nodes_follow_a_node_that_was_placed_before() -> None:
    first = variable("w", W0)
    placer = placer_of([W0, PS], kernels())
    placement = place.Placement()
    placer.place([first], {"w": first}, placement)
    later = make("Assign", "set", "w", "v")
    value = make("Placeholder", "v", device=PS)
    placer.place([later, value], {"w": first, "set": later, "v": value}, placement)
    assert placement.devices == {"w": W0, "set": W0, "v": PS}


def test_later_nodes_cannot_follow_two_nodes_that_were_placed_on_different_devices() -> None:
    placement = place.Placement()
    placer = placer_of([W0, PS], kernels())
    before = [handle("v", PS), handle("w", W0)]
    placer.place(before, {node.name: node for node in before}, placement)
    both = make("NoOp", "both", _class=[b"loc:@v", b"loc:@w"])
    placer.place([both], {node.name: node for node in [*before, both]}, placement)
    assert "Cannot colocate nodes 'both' and 'w" in placement.faults["both"].message


def test_soft_placement_keeps_the_task_and_ignores_the_device_type() -> None:
    node = make("NoOp", "x", device="/job:worker/task:0/device:GPU:3")
    assert placed(node, soft=True).devices["x"] == W0
    assert "x" in placed(node).faults


@pytest.mark.parametrize(
    ("node", "kind", "words"),
    [
        (make("NoSuchOp", "x"), errors.NotFoundError, "Op type not registered 'NoSuchOp'"),
        (
            make("NoOp", "x", device="/job:foo/task:0"),
            errors.InvalidArgumentError,
            "Cannot assign a device for operation 'x': Operation was explicitly assigned to "
            "/job:foo/task:0 but available devices are [ ",
        ),
        (
            make("NoOp", "x", device="/job:worker/task:1/device:GPU:0"),
            errors.InvalidArgumentError,
            "because no supported kernel for GPU devices is available.",
        ),
    ],
)
def test_a_node_that_cannot_be_placed_is_the_only_node_with_a_fault(
    node: ir.Node, kind: type[errors.OpError], words: str
) -> None:
    placement = placed(node, make("Placeholder", "fine"))
    assert isinstance(placement.faults["x"], kind)
    assert words in placement.faults["x"].message
    assert set(placement.devices) == {"fine"}


def test_colocated_nodes_that_ask_for_different_tasks_both_get_a_fault() -> None:
    placement = placed(variable("w", PS), make("Placeholder", "init", device=W1, _class=["loc:@w"]))
    assert "Cannot colocate nodes" in placement.faults["w"].message
    assert set(placement.faults) == {"w", "init"}


@pytest.mark.parametrize("op", ["NoSuchOp", "Neg"])
def test_a_node_that_no_device_can_run_does_not_affect_its_group(op: str) -> None:
    nodes = [
        variable("w", PS),
        make("Assign", "set", "w", "x"),
        make("Placeholder", "x"),
        make(op, "bad", "x", _class=[b"loc:@w"]),
        make("Abs", "after", "bad", _class=[b"loc:@w"]),
    ]
    placer = placer_of([W0, PS], kernels(without=["Neg"]))
    placement = place.Placement()
    placer.place(nodes, {node.name: node for node in nodes}, placement)
    assert set(placement.faults) == {"bad"}
    assert [placement.devices[name] for name in ("w", "set", "after")] == [PS] * 3
