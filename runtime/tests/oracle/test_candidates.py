"""Losses over drawn classes, the classes that are drawn, and lookups of sparse ids."""

import pathlib
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import outcome

import capstan
from capstan.framework import opdef

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(3)
WEIGHTS = RANDOM.normal(size=(7, 3)).astype(np.float32)
BIASES = RANDOM.normal(size=7).astype(np.float32)
INPUTS = RANDOM.normal(size=(4, 3)).astype(np.float32)
DRAWN = (np.array([0, 3, 5]), np.array([[0.3], [0.2], [0.5], [0.1]], np.float32),
         np.array([0.9, 0.4, 0.2], np.float32))  # fmt: skip


def loss_and_gradients(
    tf: Any, name: str, parts: int, dtype: str = "float32", **arguments: Any
) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tables = [tf.constant(WEIGHTS[part::parts], dtype) for part in range(parts)]
        inputs, biases = tf.constant(INPUTS, dtype), tf.constant(BIASES, dtype)
        labels = tf.constant([[3], [1], [0], [6]], tf.int64)
        drawn = (DRAWN[0], *(counts.astype(dtype) for counts in DRAWN[1:]))
        loss = getattr(tf.nn, name)(
            tables, biases, labels, inputs, 3, 7, sampled_values=drawn, **arguments
        )
        slopes = [
            tf.convert_to_tensor(slope) for slope in tf.gradients(loss, [*tables, biases, inputs])
        ]
        return session.run([loss, *slopes])


@pytest.mark.parametrize("removes_hits", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("name", ["nce_loss", "sampled_softmax_loss"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_and_their_gradients_are_those_of_tensorflow(
    v1: Any, name: str, parts: int, removes_hits: bool, dtype: str
) -> None:
    found, expected = (
        loss_and_gradients(tf, name, parts, dtype, remove_accidental_hits=removes_hits)
        for tf in (capstan, v1)
    )
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=2e-5, atol=1e-6)


def draws(tf: Any, name: str, runs: int, true: Any = ([2], [0]), **arguments: Any) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        sampled = getattr(tf.nn, name)(
            tf.constant(true, tf.int64), 1, 4, range_max=10, seed=5, **arguments
        )
        return [session.run(list(sampled)) for _ in range(runs)]


@pytest.mark.parametrize("drawn", [[2, 1, 2, 7, 2], [9, 3], []])
def test_accidental_hits_are_the_last_places_of_true_classes(v1: Any, drawn: list[int]) -> None:
    def case(tf: Any) -> Any:
        true = tf.constant([[1, 2], [2, 2], [7, 3]], tf.int64)
        return list(tf.nn.compute_accidental_hits(true, tf.constant(drawn, tf.int64), 2))

    assert outcome(capstan, case) == outcome(v1, case)


UNIGRAMS = [0.1, 3.0, 0.5, 2.0, 7.0, 1.0, 0.25, 4.0, 2.5, 1.5]
SAMPLERS: list[tuple[str, dict[str, Any]]] = [
    ("uniform_candidate_sampler", {}),
    ("log_uniform_candidate_sampler", {}),
    ("fixed_unigram_candidate_sampler", {"unigrams": UNIGRAMS, "distortion": 0.75}),
    ("fixed_unigram_candidate_sampler", {"unigrams": UNIGRAMS[:8], "num_reserved_ids": 2}),
    ("learned_unigram_candidate_sampler", {}),
]


@pytest.mark.parametrize("name, more", SAMPLERS)
def test_expected_counts_are_those_of_tensorflow(v1: Any, name: str, more: dict[str, Any]) -> None:
    runs = (draws(tf, name, 3, unique=False, **more) for tf in (capstan, v1))
    for found, expected in zip(*runs, strict=True):
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
        assert [value.dtype for value in found] == [value.dtype for value in expected]
        assert [value.shape for value in found] == [value.shape for value in expected]


def test_the_sampler_of_one_thread_learns_as_the_other_does() -> None:
    """TensorFlow's names differ in that its sampler must not be used by several threads."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        samplers = [
            getattr(capstan.raw_ops, f"{kind}UnigramCandidateSampler")(
                true_classes=np.int64([[1], [1]]), num_true=1, num_sampled=3, unique=False,
                range_max=4, seed=5, seed2=6,
            )
            for kind in ("ThreadUnsafe", "Learned")
        ]  # fmt: skip
        for _ in range(3):
            for found, expected in zip(*session.run(samplers), strict=True):
                np.testing.assert_array_equal(found, expected)


def test_fixed_weights_come_from_a_file_and_a_shard(v1: Any, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "words"
    file.write_text("".join(f"word,{weight}\n" for weight in UNIGRAMS))
    found, expected = [], []
    for tf, results in ((capstan, found), (v1, expected)):
        for more in (
            {"vocab_file": str(file), "range_max": 10},
            {"unigrams": UNIGRAMS, "num_shards": 2, "shard": 1, "range_max": 5},
            {"unigrams": UNIGRAMS, "vocab_file": str(file), "range_max": 10},
            {"range_max": 10},
        ):

            def drawn(tf: Any, more: Any = more) -> Any:
                sampler = tf.nn.fixed_unigram_candidate_sampler
                return [tf.to_int32(sampler([[2], [0]], 1, 4, False, **more)[1] * 1e4)]

            results.append(outcome(tf, drawn))
        results.append(
            outcome(tf, lambda tf: list(tf.nn.all_candidate_sampler([[2], [0]], 1, 4, True)))
        )
    assert found == expected


@pytest.mark.parametrize("name, more", SAMPLERS)
def test_classes_occur_as_often_as_the_expected_counts_say(name: str, more: dict[str, Any]) -> None:
    counts, expected = np.zeros(10), np.zeros(10)
    if name.startswith("learned"):
        more = {"true": np.zeros([0, 1])}  # nothing is learned between the runs
    for classes, _, often in draws(capstan, name, 2000, unique=False, **more):
        np.add.at(counts, classes, 1)
        expected[classes] = often
    # Five standard errors of 2000 runs.
    assert (np.abs(counts / 2000 - expected) <= 5 * np.sqrt(expected / 2000)).all()


@pytest.mark.parametrize("name, more", SAMPLERS)
def test_unique_classes_are_distinct(name: str, more: dict[str, Any]) -> None:
    for classes, _, counts in draws(capstan, name, 50, unique=True, **more):
        assert len(set(classes.tolist())) == 4
        assert (counts > 0).all()


UNUSABLE: list[tuple[str, dict[str, Any], str]] = [
    ("uniform_candidate_sampler", {"range_max": 3}, "range is too small"),
    (
        "fixed_unigram_candidate_sampler",
        {"range_max": 4, "unigrams": [1.0, 2.0, 0.5], "num_reserved_ids": 1},
        "only 3 classes have a weight",
    ),
    ("fixed_unigram_candidate_sampler", {"range_max": 4, "unigrams": [0.0] * 4}, "be positive"),
    (
        "fixed_unigram_candidate_sampler",
        {"range_max": 4, "unigrams": [1.0, -1.0, 2.0, 3.0], "distortion": 0.5},
        "not negative",
    ),
]


@pytest.mark.parametrize("name, more, fault", UNUSABLE)
def test_classes_that_cannot_be_drawn_fail_the_step(
    name: str, more: dict[str, Any], fault: str
) -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        sampled = getattr(capstan.nn, name)([[0]], 1, 4, True, **more)
        with pytest.raises(capstan.errors.InvalidArgumentError, match=fault):
            session.run(list(sampled))


def test_multinomial_draws_classes_by_their_probabilities() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        logits = np.log([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-30]])
        drawn = session.run(capstan.multinomial(logits, 5000, seed=2))
        assert drawn.dtype == np.int64
        for row, chances in zip(drawn, [[0.1, 0.2, 0.7], [0.5, 0.5, 0]], strict=True):
            np.testing.assert_allclose(np.bincount(row, minlength=3) / 5000, chances, atol=0.04)
        again = session.run(capstan.random.categorical(logits, 2, dtype=capstan.int32))
        assert again.dtype == np.int32


@pytest.mark.parametrize("default_id", [None, 2])
@pytest.mark.parametrize("combiner", ["mean", "sum", "sqrtn"])
def test_lookups_of_unsound_ids_are_those_of_tensorflow(
    v1: Any, combiner: str, default_id: int | None
) -> None:
    results = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            table = tf.constant(WEIGHTS)
            for indices, shape in (
                ([[0, 0], [0, 1], [2, 0], [4, 1]], [5, 2]),
                ([[0, 0, 0], [0, 0, 1], [1, 1, 0], [2, 0, 1]], [3, 2, 2]),
            ):
                ids = tf.SparseTensor(indices, np.array([1, 4, -1, 3]), shape)
                weights = tf.SparseTensor(indices, np.array([1, 2, 1, -1], np.float32), shape)
                for given in (None, weights):
                    rows = tf.nn.safe_embedding_lookup_sparse(
                        [table], ids, given, combiner=combiner, default_id=default_id
                    )
                    results.append(session.run(rows))
    half = len(results) // 2
    for found, expected in zip(results[:half], results[half:], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_sparse_functions_give_the_values_of_tensorflow(v1: Any) -> None:
    results = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            sparse = tf.SparseTensor([[0, 1], [2, 0]], [5.0, -1.0], [3, 2])
            words = tf.SparseTensor([[1]], ["x"], [2])
            filled, is_empty = tf.sparse_fill_empty_rows(sparse, 9.0)
            outputs = [
                tf.sparse_tensor_to_dense(sparse), tf.sparse_tensor_to_dense(words),
                tf.sparse_tensor_to_dense(sparse, 3.0), filled.indices, filled.values, is_empty,
                tf.sparse_to_dense([1, 3], [5], 1), tf.sparse_to_dense([2], [3], [4.0], -1.0),
                tf.sparse_tensor_dense_matmul(sparse, WEIGHTS[:2]),
                tf.sparse_retain(sparse, [False, True]).values,
                tf.sparse_reorder(tf.SparseTensor([[1], [0]], [1, 2], [2])).values,
            ]  # fmt: skip
            results.append(session.run(outputs))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("indices, fault", [([2, 1], "out of order"), ([1, 1], "repeated"),
                                            ([0, 9], "out of bounds")])  # fmt: skip
def test_unsorted_indices_are_refused(indices: list[int], fault: str) -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        dense = capstan.sparse_to_dense(capstan.constant(indices), [4], [1, 2])
        with pytest.raises(capstan.errors.InvalidArgumentError, match=fault):
            session.run(dense)


def test_all_samplers_are_random_for_the_compiler() -> None:
    for name in ("UniformCandidateSampler", "LogUniformCandidateSampler", "Multinomial"):
        assert opdef.lookup(name).effect.random
