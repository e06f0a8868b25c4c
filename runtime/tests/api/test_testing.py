"""`tf.test`: each assertion holds for what it promises, and fails for anything else."""

import json
import os
import socket
import threading
import unittest
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.ops import gradient_checker_v2
from capstan.services import server as servers


class Case(tf.test.TestCase):
    """A case that no runner runs by itself."""

    __test__ = False

    def runTest(self) -> None: ...


@pytest.fixture
def case() -> Any:
    made = Case()
    made.setUp()
    yield made
    made.tearDown()
    made.doCleanups()


def message_of_floats(*values: float) -> Any:
    return tf.AttrValue(list=tf.AttrValue.ListValue(f=values))


NAN = float("nan")
HOLDS: list[tuple[str, tuple[Any, ...]]] = [
    ("assertItemsEqual", ([1, 2], [2, 1])),
    ("assertStartsWith", ("abc", "ab")),
    ("assertProtoEquals", ('key: "x"', tf.NodeDef.AttrEntry(key="x"))),
    ("assertProtoEquals", ("f: 0.53", tf.AttrValue(f=0.5300000429))),
    ("assertProtoEquals", ("list {f: 0.1 f: 2.5}", message_of_floats(0.1 + 1e-8, 2.5))),
    ("assertProtoEquals", ("max: 0.1", tf.HistogramProto(max=0.1 + 1e-9))),
    ("assertNear", (1.0, 1.1, 0.2)),
    ("assertArrayNear", ([1.0, 2.0], [1.1, 2.1], 0.2)),
    ("assertNDArrayNear", (np.ones(2), np.ones(2) * 1.1, 0.2)),
    ("assertAllClose", ([1.0, NAN], np.array([1 + 1e-7, NAN]))),
    ("assertAllClose", ({"a": [1.0, (2.0, 3.0)]}, {"a": [1.0, (2.0, 3.0)]})),
    ("assertAllClose", ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0]])),
    ("assertAllCloseAccordingToType", (np.float16([1]), np.float16([1.001]))),
    ("assertNotAllClose", ([1.0], [2.0])),
    ("assertAllEqual", ([1.0, NAN], [1.0, NAN])),
    ("assertAllEqual", ([b"a"], np.array([b"a"], object))),
    ("assertNotAllEqual", ([1, 2], [1, 3])),
    ("assertAllGreater", ([2, 3], 1)),
    ("assertAllLess", ([2, 3], 4)),
    ("assertAllGreaterEqual", ([2, 3], 2)),
    ("assertAllLessEqual", ([2, 3], 3)),
    ("assertAllInRange", ([2, 3], 2, 3)),
    ("assertAllInSet", ([2, 3], {2, 3, 4})),
    ("assertDTypeEqual", (np.int8([1]), np.int8)),
    ("assertDeviceEqual", ("/cpu:0", "/device:CPU:0")),
    ("assertDeviceEqual", (None, "")),
]
FAILS: list[tuple[str, tuple[Any, ...]]] = [
    ("assertItemsEqual", ([1, 2], [2, 2])),
    ("assertStartsWith", ("abc", "b")),
    ("assertProtoEquals", ('key: "y"', tf.NodeDef.AttrEntry(key="x"))),
    ("assertProtoEquals", (tf.GraphDef(), tf.NodeDef())),
    ("assertProtoEquals", ("f: 0.53", tf.AttrValue(f=0.530002))),
    ("assertProtoEquals", ("list {f: 0.1}", message_of_floats(0.1, 2.5))),
    ("assertProtoEquals", ("max: 0.1", tf.HistogramProto(max=0.1 + 1e-6))),
    ("assertNear", (1.0, 1.3, 0.2)),
    ("assertNear", (1.0, NAN, 0.2)),
    ("assertArrayNear", ([1.0, 2.0], [1.1, 2.3], 0.2)),
    ("assertNDArrayNear", (np.ones(2), np.ones(2) * 1.2, 0.2)),
    ("assertAllClose", ([1.0], [1.1])),
    ("assertAllClose", ([1.0], [[1.0]])),
    ("assertAllClose", ({"a": 1}, {"b": 1})),
    ("assertAllClose", ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 4.0]])),
    ("assertAllCloseAccordingToType", (np.float32([1]), np.float32([1.001]))),
    ("assertNotAllClose", ([1.0], [1.0])),
    ("assertAllEqual", ([1, 2], [1, 3])),
    ("assertAllEqual", (3, 4)),
    ("assertAllEqual", ([1, 2], [[1, 2]])),
    ("assertNotAllEqual", ([1, 2], [1, 2])),
    ("assertAllGreater", ([2, 3], 2)),
    ("assertAllLess", ([2, 3], 3)),
    ("assertAllGreaterEqual", ([2, 3], 3)),
    ("assertAllLessEqual", ([2, 3], 2)),
    ("assertAllInRange", ([2, 3], 2, 3, True)),
    ("assertAllInRange", ([2, NAN], 2, 3)),
    ("assertAllInRange", (["a"], 2, 3)),
    ("assertAllInSet", ([2, 5], {2, 3, 4})),
    ("assertDTypeEqual", (np.int8([1]), np.int16)),
    ("assertDeviceEqual", ("/cpu:0", "/cpu:1")),
]


@pytest.mark.parametrize("name, arguments", HOLDS)
def test_an_assertion_holds(case: Any, name: str, arguments: tuple[Any, ...]) -> None:
    getattr(case, name)(*arguments)


@pytest.mark.parametrize("name, arguments", FAILS)
def test_an_assertion_fails(case: Any, name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(AssertionError):
        getattr(case, name)(*arguments)


def test_lists_of_tensors_are_evaluated_together(case: Any) -> None:
    with case.session():
        drawn = tf.random_uniform([])
        case.assertAllClose([tf.constant(1.0), [2.0, tf.constant(3.0)]], [1.0, [2.0, 3.0]])
        case.assertAllClose({"a": [drawn - drawn]}, {"a": [0.0]})


def test_structures_that_differ_are_value_errors(case: Any) -> None:
    with pytest.raises(ValueError, match="dict to non-dict"):
        case.assertAllClose({"a": 1}, [1])
    with pytest.raises(ValueError, match=r"Mismatched length: a\[1\] has 2 items"):
        case.assertAllClose([[1.0], [[2.0], [3.0, 4.0]]], [[1.0], [[2.0]]])


def test_tensors_and_variables_are_evaluated_before_they_are_compared(case: Any) -> None:
    with case.session() as session:
        value = tf.Variable([1.0, 2.0])
        session.run(value.initializer)
        case.assertAllEqual(value, [1.0, 2.0])
        case.assertAllClose(value * 2, [2.0, 4.0])
        case.assertShapeEqual(np.zeros(2), value * 2)
        with pytest.raises(AssertionError):
            case.assertShapeEqual(np.zeros(3), value * 2)
    case.assertAllEqual(case.evaluate(tf.constant(3)), 3)
    with pytest.raises(TypeError, match="tf_tensor must be a Tensor"):
        case.assertShapeEqual(np.zeros(3), 3)


def test_a_case_turns_tensors_lists_and_arrays_into_arrays(case: Any) -> None:
    for value in (tf.constant([1, 2]), [1, 2], np.array([1, 2])):
        found = case._GetNdArray(value)
        assert isinstance(found, np.ndarray)
        assert found.tolist() == [1, 2]


def test_errors_of_steps_are_matched_by_message_and_operation(case: Any) -> None:
    with case.cached_session() as session:
        wrong = tf.reshape(tf.placeholder_with_default([1.0], [None]), [2], name="wrong")
        with case.assertRaisesOpError("Input to reshape .* values"):
            session.run(wrong)
        with case.assertRaisesOpError("Caused by: wrong"):
            session.run(wrong)
        with case.assertRaisesWithPredicateMatch(ValueError, lambda error: error.args == (1,)):
            raise ValueError(1)
        for kind, pattern in ((ValueError, "two"), (TypeError, "one")):
            with (
                pytest.raises(AssertionError, match=r"Exception of type .*ValueError"),
                case.assertRaisesWithPredicateMatch(kind, pattern),
            ):
                raise ValueError("one")
        with (
            pytest.raises(AssertionError, match="OpError not raised"),
            case.assertRaisesOpError("x"),
        ):
            pass


def test_sessions_of_a_case_are_cached(case: Any) -> None:
    with case.cached_session() as first:
        assert tf.get_default_session() is first
        assert tf.constant(1).device == "/device:CPU:0"
    with case.test_session(use_gpu=True) as second:
        assert second is first
        assert tf.constant(1).device == ""
    with (
        pytest.raises(ValueError, match="The graph used to get the cached session is different"),
        case.cached_session(graph=tf.Graph()),
    ):
        pass
    with case.test_session(graph=tf.Graph()) as third:
        assert third is not first
    with pytest.raises(RuntimeError, match="closed"):
        third.run([])


def test_each_test_has_a_graph_of_its_own() -> None:
    case = Case()
    case.setUp()
    first = tf.get_default_graph()
    assert first.seed is not None
    case.setUp()
    assert tf.get_default_graph() is not first


def test_a_checked_thread_fails_its_test() -> None:
    def fail() -> None:
        raise ValueError("broken")

    case = Case()
    good = case.checkedThread(threading.get_ident)
    good.start()
    good.join()
    bad = case.checkedThread(fail)
    bad.start()
    with pytest.raises(AssertionError, match="Error in checkedThread: broken"):
        bad.join()
    case.tearDown()
    left = case.checkedThread(threading.get_ident)
    left.start()
    with pytest.raises(AssertionError, match="A checked thread was not joined"):
        case.tearDown()


def test_a_case_may_also_be_a_case_with_a_metaclass() -> None:
    class Meta(type): ...

    class Parameterized(unittest.TestCase, metaclass=Meta): ...

    class Both(tf.test.TestCase, Parameterized):
        __test__ = False

        def runTest(self) -> None:
            self.assertAllEqual(tf.constant([1]), [1])

    outcome = unittest.TestResult()
    Both().run(outcome)
    assert outcome.wasSuccessful()
    assert outcome.testsRun == 1


def test_the_folder_of_a_test_is_removed(case: Any) -> None:
    folder = case.get_temp_dir()
    assert case.get_temp_dir() == folder
    assert os.path.isdir(folder)
    case.doCleanups()
    assert not os.path.exists(folder)
    assert tf.test.get_temp_dir() == tf.test.get_temp_dir() != folder


def test_gradients_are_compared_with_differences() -> None:
    with tf.Graph().as_default(), tf.Session().as_default():
        x, z = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([2.0, 5.0])
        y = tf.reduce_sum(x * x, axis=0) + z
        exact, measured = tf.test.compute_gradient(x, [2, 2], y, [2], np.float32([[1, 2], [3, 4]]))
        np.testing.assert_allclose(exact, [[2, 0], [0, 4], [6, 0], [0, 8]])
        np.testing.assert_allclose(measured, exact, atol=1e-2)
        assert tf.test.compute_gradient_error([x, z], [[2, 2], [2]], y, [2], delta=1e-2) < 1e-2
        error = tf.test.compute_gradient_error(x, [2, 2], y, [2])
        assert isinstance(error, np.floating)
        empty = tf.zeros([0])
        assert tf.test.compute_gradient_error(empty, [0], empty * 2.0, [0]) == 0
        rows = tf.gather(x, [0, 1, 1])
        assert tf.test.compute_gradient_error(x, [2, 2], rows, [3, 2], delta=1e-2) < 1e-2
        wrong = tf.stop_gradient(x) * x
        assert tf.test.compute_gradient_error(x, [2, 2], wrong, [2, 2], np.ones((2, 2), "f")) > 0.9


def test_the_gradient_of_a_function_is_compared_with_differences() -> None:
    with tf.Graph().as_default():
        jacobians = gradient_checker_v2.compute_gradient(
            lambda x, y: x * x + y, [tf.constant([1.0, 2.0]), [3.0]], delta=1e-2
        )
        assert gradient_checker_v2.max_error(*jacobians) < 1e-2
        np.testing.assert_allclose(jacobians[0][0], [[2, 0], [0, 4]])
        np.testing.assert_allclose(jacobians[0][1], [[1, 1]])
        with pytest.raises(ValueError, match="`x` must be a list of Tensors"):
            gradient_checker_v2.compute_gradient(tf.square, 1.0)  # type: ignore[arg-type]


@pytest.mark.e2e
def test_a_local_cluster_runs_steps() -> None:
    workers, ps = tf.test.create_local_cluster(num_workers=1, num_ps=1)
    assert [len(workers), len(ps)] == [1, 1]
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        value = tf.constant(2) * 3
        with tf.Session(workers[0].target) as session:
            assert session.run(value) == 6


def test_the_ports_of_a_local_cluster_are_held_until_its_servers_listen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def server(spec: Any, job: str, index: int, *_: object) -> None:
        host, _, port = spec.task_address(job, index).rpartition(":")
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((host, int(port)))

    monkeypatch.setattr(servers, "Server", server)
    assert tf.test.create_local_cluster(1, 2) == ([None], [None, None])


def test_stubs_are_put_back() -> None:
    class Owner:
        @staticmethod
        def name() -> str:
            return "old"

    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(os.path, "isdir", lambda path: "stub")
        stubs.Set(Owner, "name", staticmethod(lambda: "new"))
        stubs.SmartSet(Owner(), "name", staticmethod(lambda: "newer"))
        assert (os.path.isdir("x"), Owner.name()) == ("stub", "newer")
        with pytest.raises(AttributeError):
            stubs.SmartSet(Owner(), "missing", 1)
    assert (os.path.isdir("/"), Owner.name(), Owner().name()) == (True, "old", "old")


def test_graph_defs_are_compared_node_by_node() -> None:
    def graph_def(*values: int) -> Any:
        with tf.Graph().as_default() as graph:
            for index, value in enumerate(values):
                tf.constant(value, name=f"c{index}")
        return graph.as_graph_def()

    tf.test.assert_equal_graph_def(graph_def(1, 2), graph_def(1, 2))
    for actual, expected, message in (
        (graph_def(1), graph_def(1, 2), "Did not find expected node 'c1 = Const'"),
        (graph_def(1, 2), graph_def(1), "Found unexpected node 'c1 = Const'"),
        (graph_def(1, 2), graph_def(1, 3), "Node named 'c1' is"),
    ):
        with pytest.raises(AssertionError, match=message):
            tf.test.assert_equal_graph_def(actual, expected)
    with pytest.raises(TypeError, match=r"Expected tf\.GraphDef for expected, got int"):
        tf.test.assert_equal_graph_def(graph_def(), 1)


def test_a_runner_runs_a_case() -> None:
    class Two(tf.test.TestCase):
        def test_good(self) -> None:
            with self.test_session():
                self.assertAllEqual(tf.constant([1]).eval(), [1])

        def test_bad(self) -> None:
            self.assertAllEqual([1], [2])

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Two).run(result)
    assert (result.testsRun, len(result.failures), len(result.errors)) == (3, 1, 0)
    assert [reason for _, reason in result.skipped] == ["Not a test."]
    assert not tf.test.is_built_with_rocm()


def test_a_runner_runs_the_benchmarks_that_match(capsys: pytest.CaptureFixture[str]) -> None:
    class Steps(tf.test.Benchmark):  # type: ignore[misc,name-defined]
        def benchmark_sum(self) -> None:
            with tf.Graph().as_default(), tf.Session() as session:
                total = tf.constant(1) + 2
                result = self.run_op_benchmark(session, total, min_iters=3, mbs=1)
            assert result["throughput"] == 1 / result["wall_time"]

        def benchmark_other(self) -> None:
            self.report_benchmark(iters=2, name="named", extras={"size": 5})

    tf.test.main([__file__, "--benchmarks=Steps.benchmark_"])
    named, total = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert named == {"name": "Steps.named", "iters": 2, "extras": {"size": 5}}
    assert (total["name"], total["iters"]) == ("Steps.benchmark_sum", 3)
    with pytest.raises(ValueError, match="No benchmarks matched the pattern: 'none'"):
        tf.test.main([__file__, "--benchmarks=none"])
    with pytest.raises(TypeError, match="extras must be a dict"):
        Steps().report_benchmark(extras=[1])


def test_names_of_absl_are_methods_of_a_case(case: Any) -> None:
    case.assertLen([1, 2], 2)
    case.assertEmpty([])
    with pytest.raises(AssertionError, match="length"):
        case.assertLen([1, 2], 3)


def test_the_writes_to_a_stream_are_captured() -> None:
    with open(os.devnull, "w") as stream:
        case = tf.test.TestCase("setUp")
        with case.captureWritesToStream(stream) as captured:
            stream.write("by Python\n")
            stream.flush()
            assert captured.contents() == "by Python\n"
            os.write(stream.fileno(), b"by its descriptor\n")
        stream.write("later\n")
        stream.flush()
        assert captured.contents() == "by Python\nby its descriptor\n"
        case.doCleanups()
