"""The operations of resource variables have the names, inputs and devices that TensorFlow gives."""

from typing import Any

import genuine
import pytest

import capstan as tf

pytestmark = genuine.MARKS


def reads_and_changes(v1: Any) -> None:
    x = v1.get_variable("x", initializer=[1.0, 2.0, 3.0], use_resource=True)
    rows = v1.IndexedSlices(v1.constant([5.0]), v1.constant([0]))
    x.assign(x * 2.0)
    x.assign_add(2.0 - x)
    with v1.control_dependencies([x.assign_sub([1.0, 1.0, 1.0], read_value=False)]):
        x.read_value()
    for change in (x.scatter_add, x.scatter_sub, x.scatter_update):
        change(rows)
    v1.gather(x, [0, 1])
    v1.assign(x, [1.0, 1.0, 1.0])
    with v1.name_scope("checked"):
        v1.is_variable_initialized(x)


def placed(v1: Any) -> None:
    setter = v1.train.replica_device_setter(ps_tasks=2)
    with v1.device(setter), v1.variable_scope("s", use_resource=True):
        x = v1.get_variable("x", [2], initializer=v1.ones_initializer())
        y = v1.Variable(lambda: v1.zeros([2]), name="y", caching_device="/job:worker")
        y.assign_add(v1.constant([1.0, 2.0]))
        with v1.colocate_with(x):
            v1.Variable(1.0, name="beside")


def branches_and_loops(v1: Any) -> None:
    x = v1.get_variable("x", initializer=[1.0, 2.0], use_resource=True)
    v1.cond(v1.placeholder(v1.bool, [], "yes"), lambda: v1.exp(x), lambda: v1.tanh(x))
    v1.while_loop(lambda i: i[0] < 3.0, lambda i: v1.maximum(i, x), [x.read_value()])


def restored(v1: Any) -> None:
    v1.get_variable("x", initializer=[1.0, 2.0], use_resource=True)
    v1.train.Saver(reshape=True)


PROGRAMS = [reads_and_changes, placed, branches_and_loops, restored]


def nodes_of(v1: Any, program: Any) -> dict[str, Any]:
    with v1.Graph().as_default() as graph:
        program(v1)
        return {
            node.name: (node.op, list(node.input), node.device, list(node.attr["_class"].list.s))
            for node in graph.as_graph_def().node
        }


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_graph_of_resource_variables_is_tensorflows(v1: Any, program: Any) -> None:
    found, expected = nodes_of(tf, program), nodes_of(v1, program)
    if program is restored:
        # The rest of a saver's graph has other names.
        kept = ("x/", "save/SaveV2/", "save/Reshape", "save/Identity", "save/Assign")
        found, expected = (
            {name: node for name, node in nodes.items() if name.startswith(kept)}
            for nodes in (found, expected)
        )
    if program is reads_and_changes:
        # TensorFlow 1.15 copies the rows of `tf.gather`. TensorFlow 2 no longer does.
        assert found.pop("Identity_1") == ("Identity", ["Gather"], "", [])
    assert found == expected


def test_a_variable_without_elements_needs_no_initializer(v1: Any) -> None:
    for package in (v1, tf):
        with package.Graph().as_default(), package.Session() as session:
            empty = package.get_variable("empty", [0, 2], use_resource=False)
            package.get_variable("full", [2], use_resource=False)
            package.get_variable("scalar", [], use_resource=False)
            resource = package.get_variable("resource", [0], use_resource=True)
            missing = session.run(package.report_uninitialized_variables())
            assert missing.tolist() == [b"full", b"scalar", b"resource"]
            assert session.run(empty).shape == (0, 2)
            assert not session.run(package.is_variable_initialized(resource))
            with pytest.raises(package.errors.FailedPreconditionError):
                session.run(resource)
