"""The ops of stochastic dual coordinate ascent compute what TensorFlow's do.

The order of the examples of a batch is random in both, so steps are compared with one example, or
with examples that share no feature.
"""

import random as chance
from typing import Any

import genuine
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan

pytestmark = genuine.MARKS

LOSSES = ["logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss"]


def run(module: Any, op: str, **inputs: Any) -> Any:
    with module.Graph().as_default(), module.Session() as session:
        return session.run(getattr(module.raw_ops, op)(**inputs))


def test_fingerprints_are_those_of_tensorflow(v1: Any) -> None:
    random = chance.Random(3)
    texts = [random.randbytes(size) for size in (*range(40), *range(120, 310, 3), 1000)]
    found, expected = (run(each, "SdcaFprint", input=texts) for each in (capstan, v1))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def step(module: Any, **inputs: Any) -> list[Any]:
    op = inputs.pop("op", "SdcaOptimizerV2")
    state, sparse, dense = run(module, op, **inputs)
    return [state, *sparse, *dense]


@settings(max_examples=40)
@given(
    loss=st.sampled_from(LOSSES), seed=st.integers(0, 10**6), l1=st.sampled_from([0.0, 0.4]),
    partitions=st.integers(1, 3), adaptive=st.booleans(), is_old=st.booleans(),
)  # fmt: skip
def test_a_step_moves_weights_as_in_tensorflow(
    v1: Any, loss: str, seed: int, l1: float, partitions: int, adaptive: bool, is_old: bool
) -> None:
    random = np.random.default_rng(seed)
    label = float(random.integers(0, 4) if loss == "poisson_loss" else random.integers(0, 2))
    if loss == "squared_loss":
        label = float(random.normal())
    sign = 2 * label - 1
    # A dual variable that the loss allows.
    dual = {"squared_loss": 0.3, "poisson_loss": label - 0.5}.get(loss, 0.25 * sign)
    ids = random.permutation(9)[:4].astype(np.int64)
    inputs = {
        "sparse_example_indices": [[0, 0, 0], [0]],
        "sparse_feature_indices": [ids[:3], ids[3:]],
        "sparse_feature_values": [random.normal(size=3).astype(np.float32)],
        "dense_features": [random.normal(size=(1, 2)).astype(np.float32), [[0.5]]],
        "example_weights": [float(random.uniform(0.5, 2))],
        "example_labels": [label],
        "sparse_indices": [np.sort(ids), ids[::-1]],
        "sparse_weights": [random.normal(size=4).astype(np.float32) for _ in range(2)],
        "dense_weights": [random.normal(size=2).astype(np.float32), [0.1]],
        "example_state_data": [[dual, 0.0, 0.0, 0.0]],
        "loss_type": loss, "l1": l1, "l2": 0.7, "num_loss_partitions": partitions,
        "num_inner_iterations": 1, "adaptative" if is_old else "adaptive": adaptive,
        "op": "SdcaOptimizer" if is_old else "SdcaOptimizerV2",
    }  # fmt: skip
    found, expected = step(capstan, **dict(inputs)), step(v1, **dict(inputs))
    assert len(found) == len(expected) == 5
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-4, 1e-5)


def test_examples_without_common_features_are_one_step_each(v1: Any) -> None:
    inputs = {
        "sparse_example_indices": [[0, 2, 2, 3]], "sparse_feature_indices": [[7, 5, 6, 1]],
        "sparse_feature_values": [], "dense_features": [], "example_weights": [1.0, 2.0, 0.5, 1.0],
        "example_labels": [1.0, 0.0, 1.0, 0.0], "sparse_indices": [[1, 5, 6, 7]],
        "sparse_weights": [[0.1, -0.2, 0.3, 0.4]], "dense_weights": [],
        "example_state_data": np.zeros((4, 4), np.float32), "loss_type": "logistic_loss",
        "l1": 0.0, "l2": 1.0, "num_loss_partitions": 1, "num_inner_iterations": 1,
        "adaptive": False,
    }  # fmt: skip
    for one, other in zip(step(capstan, **inputs), step(v1, **inputs), strict=True):
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)


@pytest.mark.parametrize("adaptive", [False, True])
def test_many_steps_reach_the_optimum(adaptive: bool) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(50, 3)).astype(np.float32)
    y = (x @ [1.0, -2.0, 0.5] + random.normal(size=50)).astype(np.float32)
    weights, state, l2 = np.zeros(3, np.float32), np.zeros((50, 4), np.float32), 5.0
    for _ in range(40 if not adaptive else 120):
        state, change = step(
            capstan, sparse_example_indices=[], sparse_feature_indices=[],
            sparse_feature_values=[], dense_features=[x], example_weights=np.ones(50, np.float32),
            example_labels=y, sparse_indices=[], sparse_weights=[], dense_weights=[weights],
            example_state_data=state, loss_type="squared_loss", l1=0.0, l2=l2,
            num_loss_partitions=1, num_inner_iterations=1, adaptive=adaptive,
        )  # fmt: skip
        weights = weights + change
    np.testing.assert_allclose(weights, np.linalg.solve(x.T @ x + l2 * np.eye(3), x.T @ y), 1e-2)


def test_weights_shrink_as_in_tensorflow(v1: Any) -> None:
    results = []
    for module in (capstan, v1):
        with module.Graph().as_default(), module.Session() as session:
            held = [
                module.Variable(value, use_resource=False)
                for value in ([0.5, -0.2, 0.0, -3.0], [[1.0], [-0.25]])
            ]
            session.run(module.global_variables_initializer())
            shrink = module.raw_ops.SdcaShrinkL1(weights=held, l1=0.5, l2=2.0)
            session.run(shrink)
            results.append(session.run(held))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


BASE = {
    "sparse_example_indices": [[0, 0]], "sparse_feature_indices": [[1, 2]],
    "sparse_feature_values": [[1.0, 1.0]], "dense_features": [[[1.0]]], "example_weights": [1.0],
    "example_labels": [1.0], "sparse_indices": [[1, 2]], "sparse_weights": [[0.0, 0.0]],
    "dense_weights": [[0.0]], "example_state_data": [[0.0] * 4], "loss_type": "logistic_loss",
    "l1": 0.0, "l2": 1.0, "num_loss_partitions": 1, "num_inner_iterations": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"example_labels": [0.5]}, {"example_labels": [-1.0], "loss_type": "poisson_loss"},
        {"sparse_feature_indices": [[1, 9]]}, {"sparse_feature_indices": [[1, 1]]},
        {"dense_features": [[[1.0, 2.0]]]}, {"example_state_data": [[0.0] * 3]},
    ],
)  # fmt: skip
def test_errors_are_those_of_tensorflow(v1: Any, change: dict[str, Any]) -> None:
    texts = []
    for module in (capstan, v1):
        with pytest.raises(Exception, match=r"Found|ore|Dup|Expected") as caught:
            step(module, **{**BASE, **change})
        words = ("Found", "Duplicate", "More", "Expected", "Only")
        line = next(each for each in str(caught.value).split("\n") if each.startswith(words))
        texts.append((type(caught.value).__name__, line.split("\t")[0].strip()))
    assert texts[0] == texts[1]
