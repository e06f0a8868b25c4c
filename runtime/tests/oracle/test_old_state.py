"""Operations of old graphs, which no function of TensorFlow 2 makes, work on a task."""

import pathlib
import signal
import subprocess
import sys
from typing import Any

import background
import genuine
import numpy as np
import pytest

import capstan
from capstan.core import function as functions

pytestmark = genuine.MARKS


def node(definition: Any, name: str, op: str, *inputs: str, **attrs: Any) -> str:
    """Add a node to a GraphDef. Attributes are types, texts, numbers, or lists of sizes."""
    made = definition.node.add(name=name, op=op)
    made.input.extend(inputs)
    for key, value in attrs.items():
        attr = made.attr[key]
        if isinstance(value, bytes):
            attr.s = value
        elif isinstance(value, bool):
            attr.b = value
        elif isinstance(value, float):
            attr.f = value
        elif isinstance(value, list):
            attr.shape.SetInParent()
            for size in value:
                attr.shape.dim.add(size=size)
        else:
            attr.type = value
    return name


def run(v1: Any, target: str, build: Any, *fetches: Any) -> list[Any]:
    """Return the values of the fetches, one step after another, of a graph of an old version."""
    definition = v1.GraphDef()
    definition.versions.producer = 9
    node(definition, "x", "Placeholder", dtype=1)
    node(definition, "y", "Placeholder", dtype=1)
    build(definition)
    feeds = {"x:0": np.float32([1, 2]), "y:0": np.float32([[3, np.nan], [5, np.nan]])}
    with v1.Graph().as_default(), v1.Session(target) as session:
        v1.import_graph_def(definition, name="")
        return [session.run(fetch, feeds) for fetch in fetches]


def variables(definition: Any) -> None:
    node(definition, "v", "Variable", dtype=1, shape=[2, 2])
    node(definition, "start", "Assign", "v", "y", T=1)
    node(definition, "read", "Identity", "v", T=1)
    node(definition, "buffer", "TemporaryVariable", dtype=1, shape=[2], var_name=b"b")
    node(definition, "first", "Assign", "buffer", "x", T=1)
    node(definition, "more", "AssignAdd", "first", "x", T=1)
    node(definition, "end", "DestroyTemporaryVariable", "more", T=1, var_name=b"b")


def stacks(definition: Any) -> None:
    node(definition, "stack", "Stack", elem_type=1, stack_name=b"s")
    node(definition, "one", "StackPush", "stack", "x", T=1)
    node(definition, "two", "StackPush", "stack", "y", "^one", T=1)
    node(definition, "last", "StackPop", "stack", "^two", elem_type=1)
    node(definition, "first", "StackPop", "stack", "^last", elem_type=1)
    node(definition, "close", "StackClose", "stack", "^first")


def copies(definition: Any) -> None:
    node(definition, "shown", "PlaceholderV2", dtype=1, shape=[2])
    node(definition, "copy", "Copy", "y", T=1)
    node(definition, "host", "CopyHost", "copy", T=1)
    node(definition, "seen", "DebugIdentity", "host", T=1, tensor_name=b"host:0")
    node(definition, "count", "DebugNanCount", "seen", T=1, tensor_name=b"seen:0")
    node(definition, "second", "DebugIdentityV2", "seen", T=1)
    node(definition, "third", "DebugIdentityV3", "second", T=1, tensor_name=b"second:0")


def summaries(definition: Any) -> None:
    node(definition, "zero", "Sub", "x", "x", T=1)
    node(definition, "infinite", "Log", "zero", T=1)
    node(definition, "traced", "DebugGradientIdentity", "y", T=1)
    name = {"tensor_name": b"y:0"}
    node(definition, "plain", "DebugNumericSummary", "traced", T=1, **name)
    attrs: dict[str, Any] = {"lower_bound": 3.0, "upper_bound": 5.0, "mute_if_healthy": True}
    node(definition, "bounded", "DebugNumericSummary", "y", T=1, **name, **attrs)
    node(definition, "endless", "DebugNumericSummary", "infinite", T=1, lower_bound=0.0, **name)
    node(
        definition,
        "small",
        "DebugNumericSummary",
        "x",
        T=1,
        lower_bound=1.0,
        upper_bound=1.0,
        **name,
    )


CASES: list[Any] = [
    (variables, "start:0", "read:0", "end:0", "end:0"),
    (stacks, ["last:0", "first:0", "close"]),
    (copies, ["seen:0", "count:0", "third:0"]),
    (summaries, ["traced:0", "plain:0", "bounded:0", "endless:0", "small:0"]),
]


@pytest.mark.parametrize("case", CASES, ids=["variables", "stacks", "copies", "summaries"])
def test_old_graphs_give_the_values_of_tensorflow(v1: Any, tasks: genuine.Tasks, case: Any) -> None:
    expected, found = (run(v1, target, *case) for target in ("", tasks.target()))
    for values, wanted in zip(found, expected, strict=True):
        for value, other in zip(
            values if isinstance(values, list) else [values],
            wanted if isinstance(wanted, list) else [wanted], strict=True,
        ):  # fmt: skip
            np.testing.assert_array_equal(value, other)


def test_the_identity_of_a_debugger_passes_references_and_gradients_on() -> None:
    """TensorFlow has no kernel of it for references on CPUs."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        cell = capstan.get_variable("cell", initializer=[1.0, 2.0], use_resource=False)
        session.run(cell.initializer)
        same = capstan.raw_ops.DebugGradientRefIdentity(input=cell._ref())
        session.run(capstan.assign_add(same, [1.0, 1.0]))
        found = capstan.raw_ops.DebugGradientIdentity(input=cell)
        slope = capstan.gradients(found * found, cell)[0]
        np.testing.assert_array_equal(session.run(slope), [4, 6])


def test_a_placeholder_of_the_second_version_must_be_fed(v1: Any, tasks: genuine.Tasks) -> None:
    for target in ("", tasks.target()):
        with pytest.raises(v1.errors.InvalidArgumentError, match="must feed a value"):
            run(v1, target, copies, "shown:0")


def test_a_constant_is_read_from_a_file(
    tf: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path
) -> None:
    v1, path = tf.compat.v1, tmp_path / "values"
    np.arange(6, dtype=np.float32).tofile(path)
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            made = tf.raw_ops.ImmutableConst(
                dtype=tf.float32, shape=[2, 3], memory_region_name=str(path)
            )
            np.testing.assert_array_equal(session.run(made), np.arange(6.0).reshape(2, 3))


def test_a_loop_over_a_range_calls_its_body(tf: Any, tasks: genuine.Tasks) -> None:
    from tensorflow.python.framework import function
    from tensorflow.python.ops import functional_ops

    v1, found = tf.compat.v1, []
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:

            @function.Defun(tf.int32, tf.float32, tf.int32)
            def body(i: Any, total: Any, last: Any) -> Any:
                return total * 2 + v1.cast(i, tf.float32), last - i

            start, limit = (v1.placeholder(tf.int32, []) for _ in range(2))
            loops = [
                functional_ops.For(start, limit, delta, [v1.constant([1.0, 2.0]), 100], body)
                for delta in (2, -3)
            ]
            rises = session.run([value + 1 for value in loops[0]], {start: 1, limit: 8})
            falls = session.run(loops[1], {start: 9, limit: -1})
            found.append([*rises, *falls])
    for value, wanted in zip(*found, strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_a_function_runs_on_the_device_that_its_call_names(tf: Any, tasks: genuine.Tasks) -> None:
    from tensorflow.python.framework import function
    from tensorflow.python.ops import functional_ops

    v1 = tf.compat.v1
    for target, device in (("", "/job:localhost/task:0/cpu:0"), (tasks.target(), "/job:ps/task:0")):
        with v1.Graph().as_default(), v1.Session(target) as session:

            @function.Defun(tf.float32)
            def doubled(x: Any) -> Any:
                return x * 2

            made = functional_ops.remote_call(
                args=[v1.constant([1.5])], Tout=[tf.float32], f=doubled, target=device
            )
            assert session.run(made)[0].tolist() == [3.0]


@pytest.mark.parametrize(("is_quiet", "status"), [(True, 0), (False, -signal.SIGABRT)])
def test_a_program_ends_at_an_abort(is_quiet: bool, status: int, tmp_path: pathlib.Path) -> None:
    program = (
        "import capstan as tf, resource\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        f"end = tf.raw_ops.Abort(error_msg='now', exit_without_error={is_quiet})\n"
        "tf.Session().run(end)\n"
        "raise SystemExit(7)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=background.PATIENCE_S,
        check=False,
        cwd=tmp_path,
    )
    assert ended.returncode == status
    assert ("Abort_op intentional failure; now" in ended.stderr) is not is_quiet


def test_functions_are_called_by_branches_loops_and_other_devices() -> None:
    ops, defun = capstan.python.ops.functional_ops, capstan.python.framework.function.Defun
    with capstan.Graph().as_default(), capstan.Session() as session:
        outside = capstan.constant(3.0)

        @defun(capstan.float32)
        def doubled(x: Any) -> Any:
            return x * 2

        @defun(capstan.float32)
        def squared(x: Any) -> Any:
            return x * x

        @defun(capstan.float32)
        def is_small(x: Any) -> Any:
            return x < 50

        @defun(capstan.int32, capstan.float32)
        def added(i: Any, x: Any) -> Any:
            return x + capstan.cast(i, capstan.float32)

        @defun(capstan.float32)
        def reads(x: Any) -> Any:
            return x + outside

        flag = capstan.placeholder(capstan.bool, [])
        results = [
            *ops.If(flag, [5.0], doubled, squared),
            *ops.While([5.0], is_small, doubled),
            *ops.For(1, 4, 1, [5.0], added),
            *ops.Gradient([capstan.constant(5.0), capstan.constant(1.0)], squared),
            *ops.remote_call("/cpu:0", [capstan.constant(5.0)], [capstan.float32], squared),
        ]
        assert session.run(results, {flag: True}) == [10, 80, 11, 10, 25]
        assert session.run(results[0], {flag: False}) == 25
        with pytest.raises(ValueError, match="captured inputs"):
            ops.While([5.0], is_small, reads)
        with pytest.raises(ValueError, match="signatures do not match"):
            ops.While([5.0], is_small, added)
        wrong = capstan.raw_ops.For(
            start=0, limit=1, delta=1, input=[1.0, 2.0], body=functions.Reference(added.name)
        )
        with pytest.raises(capstan.errors.InvalidArgumentError, match="must take an int32"):
            session.run(wrong)
