"""The outputs of nodes that one call computes go to the next call in one piece."""

from typing import Any
from unittest import mock

import examples
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.executor import columns, joint, source
from capstan.framework.raw import raw
from capstan.kernels import stacking

CPU = "/device:CPU:0"
FEATURES = 4


@pytest.fixture
def code() -> tuple[source.Writer, columns.Columns]:
    out = source.Writer()
    return out, columns.Columns(out)


Code = tuple[source.Writer, columns.Columns]


def test_a_call_takes_a_column_whose_tensors_it_takes_in_order(code: Code) -> None:
    _, found = code
    found.unpack("c", ["x", "y", "z"], "node")
    assert found.of(["x", "y", "z"]) == "c"
    for others in (["x", "z", "y"], ["x", "y"], ["x", "y", "z", "z"], ["x", "y", "w"]):
        assert found.of(others) == f"({source.items(others)})"


def test_a_tensor_of_a_column_may_have_a_second_name(code: Code) -> None:
    out, found = code
    found.unpack("c", ["x", "y", "z"], "node")
    out.statement("again = y", "identity", "")
    found.rename("y", "again")
    assert found.of(["x", "again", "z"]) == "c"


def test_names_that_no_line_reads_get_no_line(code: Code) -> None:
    out, found = code
    found.unpack("c", ["x", "y", "z"], "node")
    out.statement("again = y", "identity", "")
    found.rename("y", "again")
    found.unpack("d", ["p", "q", "r"], "node")
    out.statement("f(q)", "reader", "")
    found.finish()
    assert [line.split("  # ")[0].strip() for line in out.lines] == [
        "None", "None", "p, q, r, = d", "f(q)"
    ]  # fmt: skip


def test_names_that_another_function_reads_keep_their_line(code: Code) -> None:
    out, found = code
    found.unpack("c", ["x", "y", "z"], "node")
    out.shared.append("z")
    found.finish()
    assert out.lines[0].split("  # ")[0].strip() == "x, y, z, = c"


def test_another_function_does_not_take_the_column(code: Code) -> None:
    _, found = code
    found.unpack("c", ["x", "y", "z"], "node")
    found.finish()
    assert found.of(["x", "y", "z"]) == "(x, y, z, )"


def features(seed: int) -> tuple[list[tf.Tensor], list[tf.Operation], list[tf.Variable]]:
    """Return the sums of looked-up rows, the updates of the tables and the tables.

    Some examples have no words. The features are in another order in each layer.
    """
    random = np.random.default_rng(seed)
    found, tables = {}, []
    for feature in range(FEATURES):
        is_there = random.random((6, 4)) < random.choice([0.2, 0.6])
        is_there[random.integers(6), 0] = True
        places = np.argwhere(is_there)
        words = np.array([random.bytes(1) for _ in places], object)
        shape = np.array([6, 4])
        sparse = tf.SparseTensor(
            *(tf.placeholder_with_default(value, [None] * np.ndim(value))
              for value in (places, words, shape))
        )  # fmt: skip
        buckets = tf.strings.to_hash_bucket_fast(sparse.values, 7)
        found[feature] = tf.SparseTensor(sparse.indices, buckets, sparse.dense_shape)
    sums = []
    for width in (1, 3):
        for feature in random.permutation(FEATURES):
            start = random.normal(size=(7, width)).astype(np.float32)
            table = tf.get_variable(f"table{feature}_{width}", initializer=start)
            tables.append(table)
            kind = "sum" if width == 1 else "mean"
            sums.append(tf.nn.safe_embedding_lookup_sparse([table], found[feature], combiner=kind))
    loss = tf.add_n([tf.reduce_sum(each * each) for each in sums])
    update = tf.train.AdagradOptimizer(0.1).minimize(loss)
    return sums, [update], tables


def results(seed: int) -> list[Any]:
    with tf.Graph().as_default(), tf.device(CPU), tf.Session() as session:
        sums, updates, tables = features(seed)
        session.run(tf.global_variables_initializer())
        found = [session.run([*sums, *updates])[: len(sums)] for _ in range(2)]
        return [*found[0], *found[1], *session.run(tables)]


@pytest.mark.e2e
@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples.share(15))
def test_a_model_gives_the_values_of_nodes_that_run_alone(seed: int) -> None:
    with mock.patch.object(joint.Joint, "_one_by_one", side_effect=AssertionError):
        together = results(seed)
    with mock.patch.object(joint, "join", return_value=None):
        alone = results(seed)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_nodes_between_two_layers_get_no_tensors_of_single_nodes() -> None:
    real = stacking.Blocks.cut
    with (
        tf.Graph().as_default(),
        tf.device(CPU),
        tf.Session() as session,
        mock.patch.object(stacking.Blocks, "cut", autospec=True, side_effect=real) as cut,
    ):
        numbers = [tf.placeholder_with_default(np.arange(4) % 3, [None]) for _ in range(FEATURES)]
        found = [raw.Unique(each) for each in numbers]
        doubled = [raw.Gather(np.arange(9.0), unique) for unique, _ in reversed(found)]
        session.run([tf.concat([raw.ZerosLike(each) for each in doubled], 0).op])
    # The indices and the rows of each table, and the zeros that are joined.
    assert cut.call_count == 3


def test_a_fed_tensor_gives_its_name_to_no_other_tensor() -> None:
    with tf.Graph().as_default(), tf.device(CPU), tf.Session() as session:
        numbers = [tf.placeholder(tf.int64, [None]) for _ in range(FEATURES)]
        *found, other = [raw.Unique(each).y for each in numbers]
        fed = tf.identity(found[0])
        unrelated = tf.placeholder(tf.int64, [None])
        with tf.control_dependencies([fed.op]):
            late = raw.Unique(unrelated).y
        with tf.control_dependencies([late]):
            again = [raw.Unique(each).y for each in (late, *found[1:], other)]
        read = raw.Unique(fed).y
        feeds = {each: [5, 5, place] for place, each in enumerate(numbers)}
        values, _, fetched = session.run(
            [again, fed.op, read], {**feeds, fed: [4], unrelated: [7, 8]}
        )
    assert [value.tolist() for value in values] == [[7, 8], [5, 1], [5, 2], [5, 3]]
    assert fetched.tolist() == [4]
