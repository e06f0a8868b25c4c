"""The ops of boosted trees compute what their formulas say, and their parts agree."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.core import tree_messages

EXAMPLES, FEATURES, BUCKETS, DEPTH = 40, 3, 5, 3
SPLITS = (1 << DEPTH) - 1
L2 = 0.5
TREES = {"tree_ensemble_handle": "trees"}
STREAMS = {"quantile_stream_resource_handle": "streams"}


class Model:
    """A session with the trees and the streams of one model."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        self.session = tf.Session(graph=self.graph)
        with self.graph.as_default():
            self.handles = {
                "trees": tf.raw_ops.BoostedTreesEnsembleResourceHandleOp(shared_name="trees"),
                "streams": tf.raw_ops.BoostedTreesQuantileStreamResourceHandleOp(
                    shared_name="streams"
                ),
            }

    def run(self, op: str, **inputs: Any) -> Any:
        with self.graph.as_default():
            given = {
                key: self.handles[value] if key.endswith("handle") else value
                for key, value in inputs.items()
            }
            return self.session.run(getattr(tf.raw_ops, op)(**given))

    def create(self) -> None:
        self.run("BoostedTreesCreateEnsemble", **TREES, stamp_token=3, tree_ensemble_serialized="")


def weight(g: Any, h: Any, l1: float) -> Any:
    """Return the minimum of `(h + L2) w**2 / 2 + g w + l1 |w|`."""
    return -np.sign(g) * np.maximum(np.abs(g) - l1, 0) / (h + L2)


def objective(g: Any, h: Any, l1: float) -> Any:
    w = weight(g, h, l1)
    return (h + L2) * w**2 / 2 + g * w + l1 * np.abs(w)


def statistics(model: Model, node_ids: Any, g: Any, h: Any, features: Any) -> Any:
    return model.run(
        "BoostedTreesMakeStatsSummary", node_ids=node_ids, gradients=g, hessians=h,
        bucketized_features_list=features, max_splits=SPLITS, num_buckets=BUCKETS,
    )  # fmt: skip


def gains(model: Model, nodes: Any, stats: Any, l1: float, complexity: float, least: float) -> Any:
    return model.run(
        "BoostedTreesCalculateBestGainsPerFeature", node_id_range=nodes,
        stats_summary_list=list(stats), l1=l1, l2=L2, tree_complexity=complexity,
        min_node_weight=least, max_splits=SPLITS,
    )  # fmt: skip


@given(seed=st.integers(0, 10**6), l1=st.sampled_from([0.0, 0.3]))
def test_the_best_split_lowers_the_loss_most(seed: int, l1: float) -> None:
    random, model = np.random.default_rng(seed), Model()
    node_ids = random.integers(0, 3, EXAMPLES).astype(np.int32)
    features = [random.integers(0, BUCKETS, EXAMPLES).astype(np.int32) for _ in range(FEATURES)]
    g = random.normal(size=(EXAMPLES, 1)).astype(np.float32)
    h = random.uniform(0.5, 1.5, (EXAMPLES, 1)).astype(np.float32)
    stats = statistics(model, node_ids, g, h, features)
    for feature, node, bucket in itertools.product(range(FEATURES), range(SPLITS), range(BUCKETS)):
        chosen = (node_ids == node) & (features[feature] == bucket)
        np.testing.assert_allclose(
            stats[feature, node, bucket], [g[chosen].sum(), h[chosen].sum()], 1e-5, 1e-5
        )
    least, complexity = 12.0, 0.25
    found = gains(model, [0, 3], stats, l1, complexity, least)
    for feature, (nodes, gain, bucket, left, right) in enumerate(zip(*found, strict=True)):
        heavy = [node for node in range(3) if h[node_ids == node].sum() >= least]
        assert nodes.tolist() == heavy
        for row, node in enumerate(heavy):
            sides = [
                [features[feature][node_ids == node] <= limit for limit in range(BUCKETS)],
                [features[feature][node_ids == node] > limit for limit in range(BUCKETS)],
            ]
            inner_g, inner_h = g[node_ids == node][:, 0], h[node_ids == node][:, 0]
            losses = [
                sum(
                    objective(inner_g[side[limit]].sum(), inner_h[side[limit]].sum(), l1)
                    for side in sides
                )
                for limit in range(BUCKETS)
            ]
            before = objective(inner_g.sum(), inner_h.sum(), l1)
            # The gain of TensorFlow is twice the decrease of the loss.
            best = 2 * (before - min(losses))
            np.testing.assert_allclose(gain[row] + complexity, best, 1e-3, 1e-4)
            np.testing.assert_allclose(losses[bucket[row]], min(losses), 1e-3, 1e-4)
            for side, contribution in zip(sides, (left, right), strict=True):
                mine = side[bucket[row]]
                wanted = weight(inner_g[mine].sum(), inner_h[mine].sum(), l1)
                np.testing.assert_allclose(contribution[row, 0], wanted, 1e-3, 1e-4)


@pytest.mark.parametrize("pruning", [0, 1, 2])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_cached_logits_follow_the_trees_as_they_grow(pruning: int, bias: bool, seed: int) -> None:
    random, model = np.random.default_rng(seed), Model()
    features = [random.integers(0, BUCKETS, EXAMPLES).astype(np.int32) for _ in range(FEATURES)]
    target = random.normal(size=(EXAMPLES, 1)).astype(np.float32) + features[0][:, np.newaxis]
    read = {"bucketized_features": features, "logits_dimension": 1}
    ones = np.ones((EXAMPLES, 1), np.float32)
    model.create()
    # Half of the examples are cached later than the others, at an older tree.
    cache = np.zeros(EXAMPLES, np.int32), np.full(EXAMPLES, -1, np.int32), 0 * ones
    for step in range(12):
        partial, tree_ids, node_ids = model.run(
            "BoostedTreesTrainingPredict", **TREES, cached_tree_ids=cache[0],
            cached_node_ids=cache[1], **read,
        )  # fmt: skip
        logits = cache[2] + partial
        whole = model.run("BoostedTreesPredict", **TREES, **read)
        np.testing.assert_allclose(logits, whole, 1e-4, 1e-4)
        stamp, trees, finalized, _, nodes = model.run("BoostedTreesGetEnsembleStates", **TREES)
        assert stamp == 3 + step
        assert trees - finalized == (trees > 0)
        if bias and step < 2:
            again = model.run(
                "BoostedTreesCenterBias", **TREES,
                mean_gradients=(logits - target).mean(0, keepdims=True), mean_hessians=ones[:1],
                l1=0.0, l2=0.0,
            )  # fmt: skip
            assert bool(again) == (step == 0)
            continue
        fresh = np.arange(EXAMPLES) % 2 == step % 2
        cache = (
            np.where(fresh, tree_ids, cache[0]),
            np.where(fresh, node_ids, cache[1]),
            np.where(fresh[:, np.newaxis], logits, cache[2]),
        )
        stats = statistics(model, node_ids, logits - target, ones, features)
        split = gains(model, nodes, stats, 0.0, (0.0, 0.4, 4.0)[pruning], 1.5)
        model.run(
            "BoostedTreesUpdateEnsemble", **TREES, feature_ids=list(range(FEATURES)),
            node_ids=split[0], gains=split[1], thresholds=split[2], left_node_contribs=split[3],
            right_node_contribs=split[4], max_depth=DEPTH, learning_rate=0.3,
            pruning_mode=pruning,
        )  # fmt: skip
        after = model.run("BoostedTreesPredict", **TREES, **read)
        # Pruning a complete tree may undo splits that lowered the loss.
        assert pruning == 2 or ((after - target) ** 2).sum() <= ((whole - target) ** 2).sum() + 1e-3
    _, saved = model.run("BoostedTreesSerializeEnsemble", **TREES)
    ensemble = tree_messages.TreeEnsemble.FromString(saved)
    assert len(ensemble.trees) > 1
    pruned = [bool(each.post_pruned_nodes_meta) for each in ensemble.tree_metadata]
    assert any(pruned) == (pruning == 2)
    for tree in ensemble.trees[:-1] if pruning else ():
        for node in tree.nodes:
            split = node.bucketized_split
            children = [tree.nodes[split.left_id], tree.nodes[split.right_id]]
            # Pruning a complete tree keeps a bad split whose children have good ones.
            if pruning == 1 or all(child.WhichOneof("node") == "leaf" for child in children):
                assert node.metadata.gain >= 0
    other = Model()
    other.create()
    restored = {"stamp_token": 8, "tree_ensemble_serialized": saved}
    other.run("BoostedTreesDeserializeEnsemble", **TREES, **restored)
    assert other.run("BoostedTreesSerializeEnsemble", **TREES) == (8, saved)
    again = other.run("BoostedTreesPredict", **TREES, **read)
    np.testing.assert_array_equal(again, after)
    if bias:
        for output, logit in zip(
            other.run("BoostedTreesExampleDebugOutputs", **TREES, **read), after, strict=True
        ):
            path = tree_messages.DebugOutput.FromString(output)
            assert len(path.logits_path) == len(path.feature_ids) + 1
            np.testing.assert_allclose(path.logits_path[-1], logit[0], 1e-4, 1e-4)


def test_trees_exist_after_they_are_created() -> None:
    model = Model()
    assert not model.run("IsBoostedTreesEnsembleInitialized", **TREES)
    assert not model.run("IsBoostedTreesQuantileStreamResourceInitialized", **STREAMS)
    with pytest.raises(tf.errors.NotFoundError, match=r"trees/N10tensorflow28.* does not exist"):
        model.run("BoostedTreesGetEnsembleStates", **TREES)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to parse tree ensemble"):
        model.run(
            "BoostedTreesCreateEnsemble", **TREES, stamp_token=0, tree_ensemble_serialized=b"\xff"
        )
    model.create()
    assert model.run("IsBoostedTreesEnsembleInitialized", **TREES)
    model.run("BoostedTreesCreateEnsemble", **TREES, stamp_token=9, tree_ensemble_serialized="")
    stamp, *counts, nodes = model.run("BoostedTreesGetEnsembleStates", **TREES)
    assert (stamp, counts, nodes.tolist()) == (3, [0, 0, 0], [0, 1])
    empty = model.run(
        "BoostedTreesPredict", **TREES, bucketized_features=[[1, 2]], logits_dimension=1
    )
    assert empty.tolist() == [[0.0], [0.0]]


def test_a_layer_without_splits_is_reported(caplog: Any) -> None:
    model = Model()
    model.create()

    def grow(nodes: list[int]) -> Any:
        numbers = np.ones(len(nodes), np.float32)
        model.run(
            "BoostedTreesUpdateEnsemble", **TREES, feature_ids=[0],
            node_ids=[np.array(nodes, np.int32)], gains=[numbers],
            thresholds=[np.ones(len(nodes), np.int32)], left_node_contribs=[numbers[:, None]],
            right_node_contribs=[numbers[:, None]], max_depth=DEPTH, learning_rate=0.3,
            pruning_mode=0,
        )  # fmt: skip
        return model.run("BoostedTreesGetEnsembleStates", **TREES)[1:4]

    message = "Not growing tree ensemble as no good splits were found."
    assert list(grow([])) == [1, 0, 1]
    assert [each.getMessage() for each in caplog.records] == [message]
    assert list(grow([0])) == [1, 0, 2]
    assert len(caplog.records) == 1


def test_a_categorical_split_compares_for_equality() -> None:
    node = tree_messages.Node(
        categorical_split=tree_messages.CategoricalSplit(
            feature_id=0, value=2, left_id=1, right_id=2
        )
    )
    leaves = [tree_messages.Node(leaf=tree_messages.Leaf(scalar=value)) for value in (1.0, -1.0)]
    ensemble = tree_messages.TreeEnsemble(
        trees=[tree_messages.Tree(nodes=[node, *leaves])], tree_weights=[0.5]
    )
    model = Model()
    model.run(
        "BoostedTreesCreateEnsemble", **TREES, stamp_token=0,
        tree_ensemble_serialized=ensemble.SerializeToString(),
    )  # fmt: skip
    logits = model.run(
        "BoostedTreesPredict", **TREES, bucketized_features=[[1, 2, 3]], logits_dimension=1
    )
    assert logits.tolist() == [[-0.5], [0.5], [-0.5]]


@given(
    seed=st.integers(0, 10**6), eps=st.sampled_from([0.02, 0.1, 0.3]), digits=st.integers(0, 3),
    count=st.integers(4, 400), batches=st.integers(1, 4), is_weighted=st.booleans(),
)  # fmt: skip
def test_the_ranks_of_a_summary_enclose_the_true_ranks(
    seed: int, eps: float, digits: int, count: int, batches: int, is_weighted: bool
) -> None:
    """As in TensorFlow, a summary of three numbers or fewer keeps two, whatever epsilon is."""
    random, model = np.random.default_rng(seed), Model()
    model.run("BoostedTreesCreateQuantileStreamResource", **STREAMS, epsilon=eps, num_streams=1)
    values = np.round(random.normal(size=(batches, count)), digits).astype(np.float32)
    weights = random.integers(0, 4, (batches, count)).astype(np.float32)
    weights = weights if is_weighted else np.ones_like(weights)
    for batch, batch_weights in zip(values, weights, strict=True):
        summaries = model.run(
            "BoostedTreesMakeQuantileSummaries", float_values=[batch],
            example_weights=batch_weights if is_weighted else [1.0], epsilon=eps,
        )  # fmt: skip
        model.run("BoostedTreesQuantileStreamResourceAddSummaries", **STREAMS, summaries=summaries)
    (rows,) = model.run("BoostedTreesFlushQuantileSummaries", **STREAMS, num_features=1)
    total = weights.sum()
    if not total:
        assert rows.shape == (0, 4)
        return
    assert (np.diff(rows[:, 0]) > 0).all()
    for value, own, least, greatest in rows:
        below = weights[values < value].sum()
        upto = weights[values <= value].sum()
        assert least <= below <= upto <= greatest
        assert own <= upto - below
        assert greatest - least - own <= 2 * eps * total + 1e-3
    # The smallest and the greatest value are always kept.
    assert rows[0, 0] == values[weights > 0].min()
    assert rows[-1, 0] == values[weights > 0].max()
    gaps = (rows[1:, 3] - rows[1:, 1]) - (rows[:-1, 2] + rows[:-1, 1])
    assert gaps.max(initial=0) <= 2 * eps * total + 1e-3


@pytest.mark.parametrize("exact", [False, True])
def test_few_numbers_have_exact_boundaries(exact: bool) -> None:
    model = Model()
    model.run("BoostedTreesCreateQuantileStreamResource", **STREAMS, epsilon=0.01, num_streams=2)
    count = {"num_features": 2}
    read = "BoostedTreesQuantileStreamResourceGetBucketBoundaries"
    assert [each.tolist() for each in model.run(read, **STREAMS, **count)] == [[], []]
    numbers = [[3.0, 1.0, 2.0, 3.0, 4.0], [0.5] * 5]
    summaries = model.run(
        "BoostedTreesMakeQuantileSummaries", float_values=numbers, example_weights=[1.0],
        epsilon=0.01,
    )  # fmt: skip
    assert summaries[0].tolist() == [[1, 1, 0, 1], [2, 1, 1, 2], [3, 2, 2, 4], [4, 1, 4, 5]]
    model.run("BoostedTreesQuantileStreamResourceAddSummaries", **STREAMS, summaries=summaries)
    model.run(
        "BoostedTreesQuantileStreamResourceFlush", **STREAMS, num_buckets=5,
        generate_quantiles=exact,
    )  # fmt: skip
    found = [each.tolist() for each in model.run(read, **STREAMS, **count)]
    wanted = [[1, 2, 3, 3, 4], [0.5] * 5] if exact else [[1, 2, 3, 4], [0.5]]
    assert found == wanted
    values = [[0.0, 1.0, 1.5, 3.5, 9.0, np.nan], [0.0, 0.5, 1.0, 2.0, 3.0, 4.0]]
    buckets = model.run(
        "BoostedTreesBucketize", float_values=values, bucket_boundaries=[[1.0, 2.0, 3.0], []]
    )
    assert [each.tolist() for each in buckets] == [[0, 0, 1, 2, 2, 0], [0] * 6]
    moved = [[7.0], [8.0, 9.0]]
    model.run("BoostedTreesQuantileStreamResourceDeserialize", **STREAMS, bucket_boundaries=moved)
    assert [each.tolist() for each in model.run(read, **STREAMS, **count)] == moved


def test_errors_say_what_does_not_fit() -> None:
    model = Model()
    invalid = tf.errors.InvalidArgumentError
    with pytest.raises(invalid, match="epsilon value of zero is not allowed"):
        model.run("BoostedTreesCreateQuantileStreamResource", **STREAMS, epsilon=0.0, num_streams=1)
    with pytest.raises(invalid, match="Weights should be a single value or same size as features"):
        model.run(
            "BoostedTreesMakeQuantileSummaries", float_values=[[1.0, 2.0, 3.0]],
            example_weights=[1.0, 1.0], epsilon=0.1,
        )  # fmt: skip
    with pytest.raises(invalid, match=r"node_ids must be in \[0, 7\)"):
        statistics(model, [9], [[1.0]], [[1.0]], [[0]])
    with pytest.raises(invalid, match="Currently only one dimensional outputs are supported"):
        model.run(
            "BoostedTreesExampleDebugOutputs", **TREES, bucketized_features=[[1]],
            logits_dimension=2,
        )  # fmt: skip
    with pytest.raises(ValueError, match="must be equal, but are 2 and 1"):
        statistics(model, [0, 1], [[1.0]], [[1.0]], [[0, 0]])
