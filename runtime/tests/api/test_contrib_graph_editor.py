"""`tf.contrib.graph_editor` finds, changes and copies parts of graphs."""

import logging
import re
import sys
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

ge = tf.contrib.graph_editor


class Sample:
    """a -> c -> {e, f, g} -> h, with b and d, and a control input of h."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.a = tf.constant([1.0, 1.0], name="a")
            with tf.name_scope("foo"):
                self.b = tf.constant([2.0, 2.0], name="b")
                self.c = tf.add(self.a, self.b, name="c")
                self.d = tf.constant([3.0, 3.0], name="d")
                with tf.name_scope("bar"):
                    self.e = tf.add(self.c, self.d, name="e")
                    self.f = tf.add(self.c, self.d, name="f")
                    self.g = tf.add(self.c, self.a, name="g")
                    with tf.control_dependencies([self.c]):
                        self.h = tf.add(self.f, self.g, name="h")

    def value(self, fetch: Any, feeds: Any = None) -> Any:
        with tf.Session(graph=self.graph) as session:
            return session.run(fetch, feeds).tolist()


@pytest.fixture
def sample() -> Sample:
    return Sample()


def names(elements: Any) -> list[str]:
    return [each.name.rpartition("/")[2].removesuffix(":0") for each in elements]


def test_walks_find_operations_nearest_first(sample: Sample) -> None:
    assert names(ge.get_forward_walk_ops(sample.a.op)) == ["a", "c", "g", "e", "f", "h"]
    assert names(ge.get_forward_walk_ops([sample.a])) == ["c", "g", "e", "f", "h"]
    assert names(ge.get_backward_walk_ops(sample.g)) == ["g", "c", "a", "b"]
    assert names(ge.get_backward_walk_ops(sample.g, inclusive=False)) == ["c", "a", "b"]
    within = [sample.c.op, sample.f.op, sample.h.op, sample.a.op]
    assert names(ge.get_forward_walk_ops(sample.a.op, within_ops=within)) == ["a", "c", "f", "h"]
    stopped = ge.get_forward_walk_ops(
        sample.a.op, within_ops_fn=lambda op: op is not sample.g.op, stop_at_ts=[sample.f]
    )
    assert names(stopped) == ["a", "c", "e", "f"]
    assert names(ge.get_walks_intersection_ops([sample.a.op], [sample.f.op])) == ["a", "c", "f"]
    assert names(ge.get_walks_union_ops([sample.f.op], [sample.c.op])) == ["f", "h", "c", "a", "b"]
    assert ge.get_forward_walk_ops([]) == []


def test_walks_follow_control_inputs_if_they_are_asked_to(sample: Sample) -> None:
    ios = ge.ControlOutputs(sample.graph)
    walk = ge.get_forward_walk_ops(sample.c.op, stop_at_ts=[sample.c], control_outputs=ios)
    assert names(walk) == ["c", "h"]
    assert names(ge.get_ops_ios(sample.h.op, control_inputs=True)) == ["f", "g", "c"]
    ge.remove_control_inputs(sample.h.op, sample.c.op)
    assert ios.update().get_all() == {}
    ge.add_control_inputs(sample.e.op, [sample.g.op])
    assert names(ios.update().get(sample.g.op)) == ["e"]
    with pytest.raises(ValueError, match=r"foo/bar/g is already a control_input of foo/bar/e"):
        ge.add_control_inputs(sample.e.op, sample.g.op)
    with pytest.raises(ValueError, match=r"foo/c is not a control_input of foo/bar/h"):
        ge.remove_control_inputs(sample.h.op, sample.c.op)


def test_elements_are_selected_by_name_and_by_themselves(sample: Sample) -> None:
    graph = sample.graph
    assert names(ge.select_ops("^foo/bar/", sample.a.op, sample.b, graph=graph)) == list("efgha")
    assert names(ge.select_ts("^foo/bar/", "(?#ops)a", sample.a, graph=graph)) == list("fgeha")
    ops, ts = ge.select_ops_and_ts("^foo/[bc]$", re.compile("(?#ts)bar/e"), graph=graph)
    assert names(ops) == ["b", "c"]
    assert names(ts) == ["e"]
    assert names(ge.filter_ops(graph, lambda op: op.type == "Const")) == ["a", "b", "d"]
    assert names(ge.filter_ts(sample.g.op, True)) == ["c", "a", "g"]
    assert names(ge.filter_ts_from_regex(graph, r"/[fg]:\d$")) == ["f", "g"]
    assert names(ge.get_name_scope_ops(graph, "foo/bar/")) == ["e", "f", "g", "h"]
    found = ge.get_within_boundary_ops(graph, sample.h.op, [sample.f.op, sample.g.op])
    assert names(found) == ["f", "g", "h"]
    for wrong, message in (
        (lambda: ge.select_ops("a"), "Use the keyword argument 'graph'"),
        (lambda: ge.make_regex(3), "Expected a string or a regex"),
        (lambda: ge.get_within_boundary_ops(graph, sample.h.op, sample.h.op), "intersecting"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
    with pytest.raises(TypeError, match="Expected a type in"):
        ge.make_list_of_op([sample.a])


def test_views_have_inputs_outputs_and_tensors_that_pass(sample: Sample) -> None:
    view = ge.sgv(sample.f.op, sample.g.op, sample.b)
    assert names(view.inputs) == ["c", "d", "a", "b"]
    assert names(view.outputs) == ["f", "g", "b"]
    assert names(view.passthroughs) == ["b"]
    assert names(view.connected_inputs) == ["c", "d", "a"]
    assert names(view.consumers()) == ["h", "c"]
    assert str(view).splitlines()[1:4] == ["** ops[2]:", "  foo/bar/f", "  foo/bar/g"]
    changed = view.remap([2, sample.c], [1, 1])
    assert (names(changed.inputs), names(changed.outputs)) == (["a", "c"], ["g", "g"])
    assert names(changed.remap_default().inputs) == names(view.inputs)
    assert names(ge.sgv(sample.c.op).remap_outputs_to_consumers().outputs) == ["c", "c", "c"]
    unused = ge.sgv(sample.graph).remap_outputs([sample.h]).remove_unused_ops()
    assert "e" not in names(unused.ops)
    assert not ge.sgv()
    assert names(ge.sgv_scope("foo/bar", sample.graph).ops) == ["e", "f", "g", "h"]
    with pytest.raises(ValueError, match=r"Out of \[0, 4\[ range: 4"):
        view.remap_inputs([4])
    with pytest.raises(ValueError, match="Found repetition"):
        view.remap_inputs([0, 0])
    with pytest.raises(ValueError, match=r"Can't find foo/bar/h:0 in the inputs"):
        view.input_index(sample.h)
    with pytest.raises(ValueError, match="Graph mismatch"):
        ge.sgv(sample.a.op, graph=tf.Graph())


def test_rerouted_readers_read_the_other_tensor(sample: Sample) -> None:
    assert ge.reroute_ts(sample.b, sample.a) == 2
    assert sample.value(sample.c) == [4, 4]
    assert sample.value(sample.g) == [6, 6]
    assert sample.a.consumers() == []


def test_swapped_inputs_of_one_operation_change_places(sample: Sample) -> None:
    with sample.graph.as_default():
        difference = sample.d - sample.b
    assert ge.swap_ts([sample.d], [sample.b], can_modify=[difference.op]) == 2
    assert sample.value(difference) == [-1, -1]
    assert sample.value(sample.c) == [3, 3]
    ge.swap_ts(sample.d, sample.b, cannot_modify=[difference.op, sample.f.op])
    assert sample.value(difference) == [-1, -1]
    assert sample.value(sample.c) == [4, 4]
    assert sample.value(sample.f) == [7, 7]


def test_incompatible_tensors_are_not_rerouted(sample: Sample) -> None:
    with sample.graph.as_default():
        wide, whole = tf.zeros([3]), tf.zeros([2], tf.int32)
    with pytest.raises(ValueError, match=r"Shapes \(3,\) and \(2,\) are not compatible"):
        ge.reroute_ts(wide, sample.a)
    with pytest.raises(ValueError, match=r"Dtypes .* are not compatible"):
        ge.reroute_ts(whole, sample.a)
    with pytest.raises(ValueError, match="different sizes: 2 != 1"):
        ge.reroute_ts([sample.a, sample.b], sample.a)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="different graphs"):
        ge.reroute_ts(tf.zeros([2]), sample.a)


def test_inputs_outputs_and_both_are_exchanged_between_views(sample: Sample) -> None:
    with sample.graph.as_default():
        x, y = tf.constant([10.0, 10.0]), tf.constant([20.0, 20.0])
        product = x * y
        last = tf.identity(product)
    ge.swap_inputs(ge.sgv(sample.c.op), ge.sgv(product.op))
    assert sample.value(sample.c) == [30, 30]
    assert sample.value(product) == [2, 2]
    ge.swap_outputs(ge.sgv(sample.c.op), ge.sgv(product.op))
    assert sample.value(last) == [30, 30]
    assert sample.value(sample.e) == [5, 5]
    ge.reroute_ios(ge.sgv(sample.c.op), ge.sgv(product.op))
    assert sample.value(sample.e) == [33, 33]


def test_a_detached_part_reads_placeholders_and_is_read_by_none(sample: Sample) -> None:
    ios = ge.ControlOutputs(sample.graph)
    view, inputs, outputs = ge.detach(ge.sgv(sample.c.op), control_ios=ios)
    assert [each.op.name for each in inputs] == ["geph__a_0", "foo/geph__b_0"]
    assert [each.op.name for each in outputs] == ["foo/geph__c_0"]
    assert names(view.inputs) == ["geph__a_0", "geph__b_0"]
    assert sample.h.op.control_inputs == []
    assert sample.value(sample.c, dict(zip(inputs, ([5, 5], [6, 6]), strict=True))) == [11, 11]
    assert sample.value(sample.h, {outputs[0]: [7, 7]}) == [18, 18]


def test_parts_are_connected_and_bypassed(sample: Sample) -> None:
    with sample.graph.as_default():
        x = tf.constant([10.0, 10.0])
        y = 2.0 * x
    ge.connect(ge.sgv(y.op), ge.sgv(sample.e.op).remap_inputs([0]))
    assert sample.value(sample.e) == [23, 23]
    ge.bypass(ge.sgv(sample.f.op).remap_inputs([sample.d]))
    assert sample.value(sample.h) == [7, 7]


def test_a_known_value_is_forgotten_when_its_operation_reads_another_tensor() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        short, long = tf.constant(2), tf.constant(3)
        shape = tf.stack([short, short])
        assert tf.zeros(shape).shape == [2, 2]
        ge.reroute_ts(long, short)
        zeros = tf.zeros(shape)
        assert zeros.shape == [3, 3]
        assert session.run(zeros).shape == (3, 3)


def test_an_operation_may_read_its_own_output() -> None:
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        y = tf.nn.relu(x)
        z = tf.identity(y)
        ge.reroute_ts([y], [x])
        assert list(y.op.inputs) == [y]
        assert y.consumers() == [z.op, y.op]


@pytest.mark.parametrize(
    ("count", "others"), [(1, ""), (2, ", and 1 other operation"), (3, ", and 2 other operations")]
)
def test_a_warning_counts_the_operations_that_it_does_not_name(
    caplog: pytest.LogCaptureFixture, count: int, others: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        before, after = tf.constant(1.0), tf.constant(2.0)
        readers = [tf.negative(before) for _ in range(count)]
        session.run(readers)
        ge.reroute_ts(after, before)
        with caplog.at_level(logging.WARNING, "capstan"):
            session.run(readers)
    (warned,) = [each.getMessage() for each in caplog.records]
    assert f"'{readers[0].op.name}' was edited after it was run by a session{others}. " in warned


def test_a_session_keeps_what_it_has_run_and_warns(
    sample: Sample, caplog: pytest.LogCaptureFixture
) -> None:
    with tf.Session(graph=sample.graph) as session:
        assert session.run(sample.c).tolist() == [3, 3]
        ge.reroute_ts(sample.d, sample.a)
        with caplog.at_level(logging.WARNING, "capstan"):
            assert session.run(sample.c).tolist() == [3, 3]
            assert session.run(sample.c).tolist() == [3, 3]
    warned = [each.getMessage() for each in caplog.records]
    assert len(warned) == 1
    assert "was edited after it was run by a session, and 1 other operation. " in warned[0]
    assert sample.value(sample.c) == [5, 5]


def test_copies_in_another_graph_have_the_same_names_and_values(sample: Sample) -> None:
    sample.graph.add_to_collection("mine", sample.h)
    sample.graph.add_to_collection(tf.GraphKeys.LOSSES, sample.h)
    graph = tf.Graph()
    view, info = ge.copy(sample.graph, graph)
    assert [op.name for op in graph.get_operations()] == [
        op.name for op in sample.graph.get_operations()
    ]
    assert names(view.outputs) == ["e", "h"]
    copied = info.transformed({"h": sample.h, "rest": (sample.c.op, [sample.a])})
    assert copied["h"].graph is graph
    assert info.original(copied) == {"h": sample.h, "rest": (sample.c.op, [sample.a])}
    assert names(copied["h"].op.control_inputs) == ["c"]
    assert graph.get_collection("mine") == graph.get_collection("losses") == [copied["h"]]
    with tf.Session(graph=graph) as session:
        assert session.run(copied["h"]).tolist() == [10, 10]
    assert f"{sample.h.op.name} => {copied['h'].op.name}" in str(info)
    assert ge.util.find_corresponding([sample.h], graph) == [copied["h"]]
    assert info.transformed(copied["h"]) is None
    with pytest.raises(TypeError, match=r"Expected a tf\.Tensor or a tf\.Operation"):
        info.transformed("h")


def names_read_by_a_copy(length: int) -> int:
    """Return how often the copy of a chain of operations to another graph reads a name."""
    read = 0

    def count(frame: Any, event: str, argument: object) -> None:
        nonlocal read
        read += event == "call" and frame.f_code is name.__code__

    name: Any = tf.Operation.name.fget
    with tf.Graph().as_default() as graph:
        t = tf.constant(0.0)
        for _ in range(length):
            t = t + 1.0
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        ge.copy(graph, tf.Graph())
    finally:
        sys.setprofile(before)
    return read


def test_a_copy_reads_each_name_equally_often_in_a_graph_of_any_size() -> None:
    short, twice, four_times = map(names_read_by_a_copy, (50, 100, 200))
    assert four_times - twice == 2 * (twice - short) > 0


def test_copies_in_a_scope_read_one_placeholder_for_each_input(sample: Sample) -> None:
    sample.graph.add_to_collection("mine", sample.h)
    view, info = ge.copy(ge.sgv(sample.f.op, sample.g.op, sample.h.op), dst_scope="twin")
    assert [t.op.name for t in view.inputs] == [
        "twin/geph__c_0", "twin/geph__d_0", "twin/geph__a_0",
    ]  # fmt: skip
    copied = info.transformed(sample.h)
    assert copied.op.name == "twin/foo/bar/h"
    assert sample.graph.get_collection("twin/mine") == [copied]
    feeds = dict(zip(view.inputs, ([1, 1], [10, 10], [100, 100]), strict=True))
    assert sample.value(copied, feeds) == [112, 112]
    _, again = ge.copy(ge.sgv(sample.e.op), dst_scope="twin", src_scope="foo/bar")
    assert again.transformed(sample.e.op).name == "twin_1/e"
    with pytest.raises(ValueError, match="a does not belong to source scope: foo/"):
        ge.copy(ge.sgv(sample.a.op), src_scope="foo")


def test_copies_ignore_open_blocks_and_keep_devices_and_groups(sample: Sample) -> None:
    with sample.graph.as_default():
        with tf.device("/cpu:0"):
            first = tf.constant(1.0, name="first")
        with tf.colocate_with(first):
            second = first + 1.0
    graph = tf.Graph()
    with graph.as_default(), tf.device("/gpu:1"), tf.control_dependencies([tf.constant(1)]):
        _, info = ge.copy(ge.sgv(first.op, second.op), graph, "twin")
    copies = info.transformed([first, second])
    assert [each.device for each in copies] == ["/device:CPU:0"] * 2
    assert copies[1].op.control_inputs == []
    assert copies[1].op.colocation_groups() == [b"loc:@twin/first"]


def test_a_copy_reads_replacements_of_inputs(sample: Sample) -> None:
    with sample.graph.as_default():
        other = tf.constant([50.0, 50.0])
    view, _ = ge.copy_with_input_replacements(sample.g.op, {sample.a: other})
    assert sample.value(view.outputs[0]) == [53, 53]
    hidden = ge.sgv(sample.g.op).remap_inputs([sample.a])
    view, _ = ge.copy_with_input_replacements(hidden, {sample.c: other, sample.a: other})
    assert sample.value(view.outputs[0]) == [53, 53]


def test_handlers_decide_what_a_transformer_makes(sample: Sample) -> None:
    def negated(info: Any, op: Any, new_inputs: Any) -> Any:
        made, outputs = ge.transform.copy_op_handler(info, op, new_inputs, copy_shape=True)
        if op.type == "Const":
            return made, outputs
        with info.graph_.as_default():
            return made, [-outputs[0]]

    transformer = ge.Transformer()
    transformer.transform_op_handler = negated
    graph = tf.Graph()
    _, info = transformer(sample.graph, graph, "", "")
    with tf.Session(graph=graph) as session:
        assert session.run(info.transformed(sample.g)).tolist() == [2, 2]

    def marked(node_def: Any) -> Any:
        node_def.attr["_mark"].s = b"yes"
        return node_def

    transformer.transform_op_handler = lambda info, op, new_inputs: ge.copy_op_handler(
        info, op, new_inputs, nodedef_fn=marked
    )
    _, info = transformer(sample.graph, tf.Graph(), "", "")
    assert info.transformed(sample.h).op.get_attr("_mark") == b"yes"
    transformer.transform_op_handler = lambda info, op, new_inputs: (op, op.outputs)
    with pytest.raises(ValueError, match="In-place transformation not allowed"):
        transformer(sample.graph, tf.Graph(), "", "")


class Pair(NamedTuple):
    first: Any
    second: Any


def test_replaced_tensors_change_what_depends_on_them() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.constant(1.0, name="a"), tf.Variable(2.0, name="b")
        c = a * 10.0 + b
        session.run(tf.global_variables_initializer())
        new = tf.constant(5.0)
        assert session.run(ge.graph_replace(c, {a: new})) == 52
        assert session.run(ge.graph_replace(c, {b.value(): new})) == 15
        found = ge.graph_replace(OrderedDict(x=Pair(c, [b.value()])), {a: new})
        assert isinstance(found, OrderedDict)
        assert isinstance(found["x"], Pair)
        assert found["x"].second == [b.value()]
        assert session.run(found["x"].first) == 52
        with pytest.raises(ValueError, match="not connected"):
            ge.graph_replace(a, {c: new})
        with pytest.raises(TypeError, match="Expected a type"):
            ge.graph_replace(c, {b: new})


def test_gradients_of_replaced_tensors_reach_the_replacements() -> None:
    """An unrolled step of an optimizer: the loss after the step, differentiated through it."""
    with tf.Graph().as_default(), tf.Session() as session:
        w, rate = tf.Variable(3.0), tf.constant(0.1)
        loss = tf.square(w)
        after = w - rate * tf.gradients(loss, w)[0]
        unrolled = ge.graph_replace(loss, {w.value(): after})
        slopes = tf.gradients(unrolled, [w, rate])
        session.run(tf.global_variables_initializer())
        # (w - 2 r w)**2 = w**2 (1 - 2 r)**2
        np.testing.assert_allclose(session.run([unrolled, *slopes]), [5.76, 3.84, -28.8], rtol=1e-6)


def summed(limit: Any) -> Any:
    return tf.while_loop(lambda i, s: i < limit, lambda i, s: (i + 1, s + i * i), [0, 0])[1]


def test_a_copied_loop_runs_beside_its_original() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        limit = tf.placeholder(tf.int32, [])
        squares = summed(limit)
        doubled = ge.graph_replace(squares, {limit: 2 * limit})
        assert session.run([squares, doubled], {limit: 3}) == [5, 55]
        other = tf.Graph()
        _, info = ge.copy(graph, other, "imported")
    with tf.Session(graph=other) as session:
        both = info.transformed([squares, doubled])
        assert session.run(both, {info.transformed(limit): 3}) == [5, 55]


def test_copied_conditionals_and_functions_run_in_another_graph() -> None:
    @tf.function
    def halved(x: Any) -> Any:
        return x / 2

    graph = tf.Graph()
    with graph.as_default():
        choice = tf.placeholder(tf.bool, [])
        result = tf.cond(choice, lambda: halved(tf.constant(3.0)), lambda: tf.constant(2.0))
        python = tf.py_func(lambda x: x + 1, [result], tf.float32)
    other = tf.Graph()
    _, info = ge.copy(graph, other, "imported")
    found = info.transformed(python)
    with tf.Session(graph=other) as session:
        values = [session.run(found, {info.transformed(choice): each}) for each in (True, False)]
    assert values == [2.5, 3.0]


def test_activations_are_computed_again_for_the_gradient() -> None:
    """Gradients with checkpoints: the part after the checkpoint is copied for the backward pass."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.linspace(-1, 1, 12).reshape(3, 4), tf.float32)
        layers = [x]
        for _ in range(4):
            layers.append(tf.layers.dense(layers[-1], 4, tf.tanh))
        loss, variables = tf.reduce_sum(layers[-1]), tf.trainable_variables()
        middle = layers[2]
        after = ge.get_walks_intersection_ops([middle], [loss.op])
        stopped = tf.stop_gradient(middle)
        _, info = ge.copy_with_input_replacements(ge.sgv(after), {})
        copies = [info.transformed(op) for op in after]
        assert ge.reroute_ts([stopped], [middle], can_modify=copies) == 1
        slopes = tf.gradients(info.transformed(loss), [stopped, *variables])
        ge.add_control_inputs(copies[0], [loss.op])
        upstream = tf.gradients(middle, variables, grad_ys=slopes[0])
        found = [
            late if early is None else early
            for early, late in zip(upstream, slopes[1:], strict=True)
        ]
        expected = tf.gradients(loss, variables)
        session.run(tf.global_variables_initializer())
        for one, other in zip(*session.run([found, expected]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_cycle_is_named_when_it_runs(sample: Sample) -> None:
    ge.reroute_ts(sample.g, sample.a, can_modify=[sample.c.op])
    with pytest.raises(tf.errors.InvalidArgumentError, match="node foo/c}} depends on itself"):
        sample.value(sample.h)


def test_the_modules_of_tensorflow_are_there() -> None:
    assert ge.select.get_forward_walk_ops is ge.get_forward_walk_ops
    assert ge.transform.Transformer is ge.Transformer
    assert ge.subgraph.SubGraphView is ge.SubGraphView
    assert ge.util.placeholder_name(None, scope="foo") == "foo/geph"
    with tf.Graph().as_default():
        assert ge.ph(tf.float32, [2], scope="x").op.name == "x/geph"
