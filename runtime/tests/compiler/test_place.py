"""Where nodes go: devices, groups, soft placement, and faults that stay with the node."""

from typing import Any

import numpy as np
import pytest

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.core import node as ir
from capstan.framework import ops  # noqa: F401 - fills the registry
from capstan.placement import place

Edge = ir.Edge
PS = "/job:ps/replica:0/task:0/device:CPU:0"
W0 = "/job:worker/replica:0/task:0/device:CPU:0"
W1 = "/job:worker/replica:0/task:1/device:CPU:0"
GPU = "/job:worker/replica:0/task:1/device:GPU:0"


def variable(name: str, device: str = "") -> ir.Node:
    attrs = {"dtype": dtypes.float32, "shape": shapes.TensorShape([])}
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


def placed(
    *nodes: ir.Node, soft: bool = False, gpu: frozenset[str] = frozenset()
) -> place.Placement:
    def supports(op: str, kind: str, attrs: Any) -> bool:
        return kind == "CPU" or op in gpu

    placer = place.Placer([W1, GPU, W0, PS], supports, soft)
    placement = place.Placement()
    placer.place(nodes, {node.name: node for node in nodes}, placement)
    return placement


def test_what_nobody_places_goes_to_the_first_task_of_the_cluster() -> None:
    assert placed(make("Neg", "y", "x"), make("Placeholder", "x")).devices["y"] == PS


def test_a_partial_device_is_completed() -> None:
    assert placed(make("NoOp", "x", device="/job:worker/task:1")).devices["x"] == W1


def test_the_best_device_type_wins_when_every_member_has_a_kernel() -> None:
    on_worker = make("Neg", "x", "x0", device="/job:worker/task:1")
    given_x0 = make("Placeholder", "x0", device=PS)
    assert placed(on_worker, given_x0, gpu=frozenset({"Neg"})).devices["x"] == GPU


def test_who_changes_a_variable_goes_where_it_is_whatever_its_own_device() -> None:
    found = placed(
        variable("w", PS),
        make("Assign", "w/Assign", "w", "zero", device=W1),
        make("Placeholder", "zero"),
    )
    assert found.devices["w/Assign"] == PS
    assert not found.faults


def test_who_reads_a_variable_stays_where_it_was_put() -> None:
    assert placed(variable("w", PS), make("Identity", "read", "w", device=W1)).devices["read"] == W1


def test_colocation_by_class_attribute() -> None:
    near = make("Placeholder", "init", _class=[b"loc:@w"])
    assert placed(variable("w", W0), near).devices["init"] == W0


def test_a_lone_source_joins_its_consumers() -> None:
    found = placed(
        ir.Node("c", "Const", attrs={"dtype": dtypes.float32, "value": np.zeros((), np.float32)}),
        make("Neg", "y", "c", device=W1),
    )
    assert found.devices["c"] == W1


def test_shape_joins_its_input() -> None:
    found = placed(make("Placeholder", "x", device=W1), make("Shape", "s", "x"))
    assert found.devices["s"] == W1


def test_a_node_keeps_its_device_and_later_ones_follow_it() -> None:
    first = variable("w", W0)
    placer = place.Placer([W0, PS], lambda *_: True)
    placement = place.Placement()
    placer.place([first], {"w": first}, placement)
    later = make("Assign", "set", "w", "v")
    value = make("Placeholder", "v", device=PS)
    placer.place([later, value], {"w": first, "set": later, "v": value}, placement)
    assert placement.devices == {"w": W0, "set": W0, "v": PS}


def test_soft_placement_keeps_the_task_and_drops_the_type() -> None:
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
def test_what_cannot_be_placed_is_a_fault_of_that_node_alone(
    node: ir.Node, kind: type[errors.OpError], words: str
) -> None:
    found = placed(node, make("Placeholder", "fine"))
    assert isinstance(found.faults["x"], kind)
    assert words in found.faults["x"].message
    assert set(found.devices) == {"fine"}


def test_colocated_nodes_that_ask_for_different_tasks_are_a_fault_of_both() -> None:
    found = placed(variable("w", PS), make("Placeholder", "init", device=W1, _class=["loc:@w"]))
    assert "Cannot colocate nodes" in found.faults["w"].message
    assert set(found.faults) == {"w", "init"}


@pytest.mark.parametrize("op", ["NoSuchOp", "Neg"])
def test_a_node_that_no_device_can_run_leaves_alone_what_it_is_to_be_with(op: str) -> None:
    nodes = [
        variable("w", PS),
        make("Assign", "set", "w", "x"),
        make("Placeholder", "x"),
        make(op, "bad", "x", _class=[b"loc:@w"]),
        make("Abs", "after", "bad", _class=[b"loc:@w"]),
    ]
    placer = place.Placer([W0, PS], lambda name, *_: name != "Neg")
    placement = place.Placement()
    placer.place(nodes, {node.name: node for node in nodes}, placement)
    assert set(placement.faults) == {"bad"}
    assert [placement.devices[name] for name in ("w", "set", "after")] == [PS] * 3
