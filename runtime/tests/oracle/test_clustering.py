"""K-means chooses and moves the centers that TensorFlow's does."""

from typing import Any

import genuine
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan
from capstan.api import clustering

pytestmark = genuine.MARKS


def run(module: Any, op: str, **inputs: Any) -> Any:
    with module.Graph().as_default(), module.Session() as session:
        return session.run(getattr(module.raw_ops, op)(**inputs))


@settings(max_examples=30)
@given(
    seed=st.integers(-(2**40), 2**40), count=st.integers(1, 40), retries=st.integers(-1, 3),
    data=st.data(),
)  # fmt: skip
def test_points_are_drawn_as_in_tensorflow(
    v1: Any, seed: int, count: int, retries: int, data: st.DataObject
) -> None:
    # Sums of these integers are exact in any order. No two points are equal.
    places = np.random.default_rng(count).permutation(400)[:count]
    points = np.stack([places // 20, places % 20, places % 7], 1).astype(np.float32)
    inputs = {
        "points": points,
        "num_to_sample": data.draw(st.integers(1, count)),
        "seed": seed,
        "num_retries_per_sample": retries,
    }
    found, expected = (
        run(each, "KmeansPlusPlusInitialization", **inputs) for each in (capstan, v1)
    )
    np.testing.assert_array_equal(found, expected)


# TensorFlow's threads take subnormal numbers for 0.
DISTANCES = st.lists(st.floats(0, 100, width=32, allow_subnormal=False), min_size=1, max_size=50)


@settings(max_examples=30)
@given(DISTANCES, st.integers(0, 2**62))
def test_chains_end_where_they_end_in_tensorflow(v1: Any, distances: Any, seed: int) -> None:
    found, expected = (
        run(each, "KMC2ChainInitialization", distances=distances, seed=seed)
        for each in (capstan, v1)
    )
    assert found.dtype == np.int64
    assert found == expected


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(0, 30), st.integers(1, 4), st.integers(0, 5))
def test_the_nearest_centers_are_those_of_tensorflow(
    v1: Any, points: int, centers: int, size: int, k: int
) -> None:
    random = np.random.default_rng(points * 31 + centers)
    inputs = {
        "points": random.integers(-9, 9, (points, size)).astype(np.float32),
        "centers": random.integers(-9, 9, (centers, size)).astype(np.float32),
        "k": k,
    }
    found, expected = (run(each, "NearestNeighbors", **inputs) for each in (capstan, v1))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def errors(module: Any, op: str, **inputs: Any) -> tuple[str, str]:
    try:
        run(module, op, **inputs)
    except Exception as error:  # noqa: BLE001 - the errors are compared
        lines = [line for line in str(error).split("\n") if "xpected" in line or "should" in line]
        return type(error).__name__, lines[0].split("{{")[0].strip()
    return "", ""


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("NearestNeighbors", {"points": [[1.0, 2.0]], "centers": [[1.0]], "k": 1}),
        ("NearestNeighbors", {"points": [1.0], "centers": [[1.0]], "k": 1}),
        ("NearestNeighbors", {"points": np.zeros((0, 1), "f"), "centers": [[1.0]], "k": 1}),
        ("KMC2ChainInitialization", {"distances": [[1.0]], "seed": 1}),
        ("KMC2ChainInitialization", {"distances": [], "seed": 1}),
        *(
            (
                "KmeansPlusPlusInitialization",
                {"points": points, "num_to_sample": n, "seed": 1, "num_retries_per_sample": 0},
            )
            for points, n in (([[1.0]], 2), ([[1.0]], 0), ([1.0], 1), (np.zeros((0, 1), "f"), 1))
        ),
    ],
)
def test_errors_are_those_of_tensorflow(v1: Any, op: str, inputs: Any) -> None:
    expected = errors(v1, op, **inputs)
    assert expected[0]
    assert errors(capstan, op, **inputs) == expected


def centers(module: Any, kmeans: Any, points: Any, **arguments: Any) -> list[Any]:
    """Return the state of the clustering after each of some steps."""
    with module.Graph().as_default(), module.Session() as session:
        module.set_random_seed(5)
        batch = module.placeholder(module.float32, [None, 2])
        graph = kmeans(batch, **arguments).training_graph()
        session.run(module.global_variables_initializer())
        everything, indices, distances, is_initialized, init, train = graph
        seen = []
        while not session.run(is_initialized):
            session.run(init, {batch: points[:20]})
        names = sorted(variable.op.name for variable in module.global_variables())
        held = [v for name in names for v in module.global_variables() if v.op.name == name]
        for step in range(6):
            feed = {batch: points if not arguments.get("use_mini_batch") else points[step::6]}
            assert len(everything) == len(indices) == len(distances) == 1
            seen += session.run([everything[0], indices[0], distances[0]], feed)
            session.run(train, feed)
            seen += session.run(held)
        return [names, *seen]


@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
@pytest.mark.parametrize("initial", ["kmeans_plus_plus", "points", "function"])
def test_centers_move_as_in_tensorflow(v1: Any, metric: str, initial: Any) -> None:
    from tensorflow.python.ops import clustering_ops

    points = three_groups()
    chosen = {
        "points": points[:4], "function": lambda inputs, n: _first(inputs)[:3][:n],
    }.get(initial, initial)  # fmt: skip
    arguments = {
        "num_clusters": 4,
        "initial_clusters": chosen,
        "distance_metric": metric,
        "random_seed": 7,
    }
    expected = centers(v1, clustering_ops.KMeans, points, **arguments)
    found = centers(capstan, clustering.KMeans, points, **arguments)
    assert found[0] == expected[0]
    for one, other in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(one, other, 1e-4, 1e-4)


def three_groups() -> Any:
    random = np.random.default_rng(2)
    points = random.normal(size=(60, 2)) + 3 * random.integers(0, 3, (60, 1))
    return points.astype(np.float32)


def _first(inputs: Any) -> Any:
    """Return the batch, of which TensorFlow passes a list with one part."""
    return inputs[0] if isinstance(inputs, list) else inputs
