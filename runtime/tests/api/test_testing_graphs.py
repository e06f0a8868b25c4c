"""`test_util` of TensorFlow's tests: graphs, layouts, devices and decorators of programs' tests."""

import unittest
from typing import Any

import pytest

import capstan as tf
from capstan.python.framework import test_util


@pytest.fixture
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_ops_in_a_graph_are_found_by_name(graph: tf.Graph) -> None:
    tf.constant(1, name="one")
    tf.no_op(name="other")
    found = test_util.assert_ops_in_graph({"one": "Const"}, graph)
    assert found["one"].attr["value"].tensor.int_val == [1]
    with pytest.raises(ValueError, match="node one is different"):
        test_util.assert_ops_in_graph({"one": "Add"}, graph)
    with pytest.raises(ValueError, match="Not all expected ops are present"):
        test_util.assert_ops_in_graph({"one": "Const", "two": "Const"}, graph)


def test_a_node_is_found_by_name_or_none_is_returned(graph: tf.Graph) -> None:
    tf.no_op(name="a")
    assert test_util.get_node_def_from_graph("a", graph.as_graph_def()).op == "NoOp"
    assert test_util.get_node_def_from_graph("b", graph.as_graph_def()) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda meta: meta.collection_def["c"].node_list.value.append("b"),
        lambda meta: meta.graph_def.node.add(name="other"),
        lambda meta: meta.graph_def.versions.CopyFrom(tf.GraphDef().versions.__class__(producer=1)),
        lambda meta: meta.meta_info_def.tags.append("tag"),
    ],
    ids=["collection", "node", "version", "tag"],
)
def test_meta_graphs_are_equal_in_all_parts(graph: tf.Graph, change: Any) -> None:
    tf.add_to_collection("c", tf.constant(1, name="a"))
    metas = [tf.train.export_meta_graph() for _ in range(2)]
    test_util.assert_meta_graph_protos_equal(tf.test.TestCase(), *metas)
    change(metas[1])
    with pytest.raises(AssertionError):
        test_util.assert_meta_graph_protos_equal(tf.test.TestCase(), *metas)


def test_blocks_place_their_operations(graph: tf.Graph) -> None:
    blocks = {
        "gpu:0": test_util.force_gpu(),
        "cpu:0": test_util.force_cpu(),
        "CPU:0": test_util.device(use_gpu=False),
    }
    for name, block in blocks.items():
        with block:
            assert tf.no_op().device.lower() == f"/device:{name.lower()}"


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 4, 5, 6)])
def test_layouts_turn_shapes_and_tensors_alike(graph: tf.Graph, shape: tuple[int, ...]) -> None:
    turned = [shape[0], shape[-1], *shape[1:-1]]
    assert test_util.NHWCToNCHW(list(shape)) == turned
    assert test_util.NHWCToNCHW(tf.zeros(shape)).shape == turned
    assert test_util.NCHWToNHWC(turned) == list(shape)
    assert test_util.NCHWToNHWC(tf.zeros(turned)).shape == shape


def test_combinations_have_the_names_of_their_values() -> None:
    combinations = test_util.generate_combinations_with_testcase_name(b=[1, 2], a="x y")
    assert combinations == [
        {"a": "x y", "b": 1, "testcase_name": "_test_a_xy_b_1"},
        {"a": "x y", "b": 2, "testcase_name": "_test_a_xy_b_2"},
    ]


def _outcome(method: Any) -> tuple[int, int]:
    """Return how many times a test ran, and how many of its runs were skipped."""
    runs = []

    class Case(tf.test.TestCase):
        __test__ = False
        test = method(lambda self: runs.append(self))

    result = unittest.TestResult()
    Case("test").run(result)
    assert not result.errors
    assert not result.failures
    return len(runs), len(result.skipped)


@pytest.mark.parametrize(
    "decorator",
    [
        test_util.deprecated_graph_mode_only,
        test_util.deprecated_graph_mode_only(),
        test_util.disable_xla("reason"),
        test_util.use_deterministic_cudnn,
        test_util.enable_control_flow_v2,
        test_util.skip_if(lambda: False),
    ],
)
def test_tests_of_graphs_run(decorator: Any) -> None:
    assert _outcome(decorator) == (1, 0)


@pytest.mark.parametrize("decorator", [test_util.run_v2_only, test_util.run_v2_only()])
def test_tests_of_eager_execution_are_skipped(decorator: Any) -> None:
    assert _outcome(decorator) == (0, 1)


@pytest.mark.parametrize("decorator", [test_util.run_gpu_only, test_util.run_cuda_only()])
def test_tests_of_gpus_run_only_with_one(decorator: Any) -> None:
    assert _outcome(decorator) == ((1, 0) if tf.test.is_gpu_available() else (0, 1))


def test_a_condition_leaves_a_function_out() -> None:
    assert _outcome(test_util.skip_if(condition=True)) == (0, 0)


def test_a_decorator_reaches_all_tests_of_a_class() -> None:
    @test_util.for_all_test_methods(test_util.skip_if, True)
    class Case(tf.test.TestCase):
        __test__ = False

        def test_fails(self) -> None:
            self.fail("This method must not run.")

    result = unittest.TestResult()
    Case("test_fails").run(result)
    assert result.wasSuccessful()
