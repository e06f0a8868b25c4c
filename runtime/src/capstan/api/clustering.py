"""The graph of k-means clustering (python/ops/clustering_ops.py)."""

from typing import Any, Final, NamedTuple

from capstan.api import (
    array_ops,
    clustering_centers,
    cond_ops,
    context,
    control_flow_ops,
    creation_ops,
    math_ops,
    nn,
    reduce_ops,
    state_ops,
    variables,
)
from capstan.api.clustering_centers import KMEANS_PLUS_PLUS_INIT, RANDOM_INIT
from capstan.core import dtypes
from capstan.framework import convert, random_seed
from capstan.framework.raw import raw

SQUARED_EUCLIDEAN_DISTANCE: Final = "squared_euclidean"
COSINE_DISTANCE: Final = "cosine"
CLUSTERS_VAR_NAME: Final = "clusters"
_TINY: Final = 1e-6


class Clustering(NamedTuple):
    """The tensors and operations of a batch.

    `all_distances` has the distance of each point to each center, and `indices` and `distances` are
    the nearest center and its distance. These three are tuples of one tensor, as in TensorFlow,
    where points may be in several matrices. `init_op` chooses some of the first centers. It is run
    until `is_initialized`. Then `train_op` moves the centers.
    """

    all_distances: tuple[Any, ...]
    indices: tuple[Any, ...]
    distances: tuple[Any, ...]
    is_initialized: Any
    init_op: Any
    train_op: Any


class KMeans:
    """Makes the graph of the clustering of `inputs`, a matrix with a row for each point.

    `initial_clusters` is an algorithm ("random", "kmeans_plus_plus"), a function of points and a
    number that returns at most as many centers, or a matrix of centers. The distance is
    "squared_euclidean" or "cosine". Without `use_mini_batch`, a batch has all points, and the
    centers move to the means of their points. With it, they move a part of the way, and the
    centers to which points are assigned change after each `mini_batch_steps_per_iteration` steps.

    Raises:
        ValueError: the algorithm or the distance is unknown.
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: clustering_centers.Initial = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int | None = 0,
        kmeans_plus_plus_num_retries: int = 2,
    ) -> None:
        check(initial_clusters, distance_metric)
        self._inputs, self._num_clusters = inputs, num_clusters
        self._initial, self._retries = initial_clusters, kmeans_plus_plus_num_retries
        self._is_cosine = distance_metric == COSINE_DISTANCE
        self._is_mini_batch = use_mini_batch
        self._steps = int(mini_batch_steps_per_iteration)
        self._seed = random_seed

    def training_graph(self) -> Clustering:
        """Add the variables and operations to the default graph."""
        initial, num_clusters = self._initial, self._num_clusters
        if isinstance(initial, str) or callable(initial):
            num_clusters = convert.convert_to_tensor(num_clusters)
        else:
            initial = convert.convert_to_tensor(initial)
            num_clusters = raw.Shape(initial)[0]
        state = self._variables(num_clusters)
        chooser = clustering_centers.CenterChooser(
            self._inputs,
            num_clusters,
            initial,
            self._is_cosine,
            random_seed_of(self._seed),
            self._retries,
            state.centers,
            state.updated,
            state.is_initialized,
        )
        init_op = chooser.op()
        points, centers = self._inputs, state.centers
        if self._is_cosine:
            points = nn.l2_normalize(points, 1)
            if not self._keeps_unit_length:
                centers = nn.l2_normalize(centers, 1)
        indices, distances = raw.NearestNeighbors(points, centers, 1)
        indices, distances = (raw.Squeeze(each, squeeze_dims=[-1]) for each in (indices, distances))
        if self._is_cosine:
            # Half the squared distance of two vectors of length 1.
            distances *= 0.5
        if self._is_mini_batch:
            # The points of this step are assigned to the centers from before it.
            with context.control_dependencies([indices]):
                synchronized = self._synchronize(state)
            with context.control_dependencies([synchronized]):
                train_op = _moved(points, indices, state)
        else:
            train_op = self._centered(points, num_clusters, indices, state.centers)
        everything = self._all_distances(points, centers)
        return Clustering(
            (everything,), (indices,), (distances,), state.is_initialized, init_op, train_op
        )

    @property
    def _has_copy(self) -> bool:
        return self._is_mini_batch and self._steps > 1

    @property
    def _keeps_unit_length(self) -> bool:
        return self._is_cosine and (not self._is_mini_batch or self._steps > 1)

    def _variables(self, num_clusters: Any) -> "_State":
        nothing = creation_ops.placeholder_with_default([], None)
        centers = _unshaped(nothing, CLUSTERS_VAR_NAME)
        is_initialized = variables.Variable(False, name="initialized")
        if self._has_copy:
            updated = _unshaped(nothing, "clusters_updated")
            left = variables.Variable(self._steps, dtype=dtypes.int64, name="update_in_steps")
            counts = _unshaped(_filled(num_clusters, 0), "Variable")
            return _State(centers, is_initialized, counts, updated, left)
        counts = _unshaped(_filled(num_clusters, 1), "Variable") if self._is_mini_batch else None
        return _State(centers, is_initialized, counts, centers, None)

    def _all_distances(self, points: Any, centers: Any) -> Any:
        products = raw.MatMul(points, centers, transpose_b=True)
        if self._is_cosine:
            return 1.0 - products
        squares = (
            reduce_ops.reduce_sum(raw.Square(each), 1, keepdims=True) for each in (points, centers)
        )
        of_points, of_centers = squares
        return of_points - 2.0 * products + array_ops.transpose(of_centers)

    def _synchronize(self, state: "_State") -> Any:
        """Return an operation that takes over the moved centers if it is time for it."""
        left = state.steps_left
        if left is None:
            return control_flow_ops.no_op()

        def take_over() -> Any:
            # First, so that other workers do not do the same. The counts are last: with old
            # centers and no counts, the moved centers would jump.
            with context.control_dependencies([state_ops.assign(left, self._steps - 1)]):
                moved = array_ops.identity(state.updated)
                if self._is_cosine:
                    moved = nn.l2_normalize(moved, 1)
                kept = state_ops.assign(state.centers, moved)
            with context.control_dependencies([kept]):
                emptied = state_ops.assign(state.counts, raw.ZerosLike(state.counts))
            with context.control_dependencies([emptied]):
                return array_ops.identity(left)

        is_time = raw.LessEqual(left, 0)
        return cond_ops.cond(is_time, take_over, lambda: state_ops.assign_sub(left, 1))

    def _centered(self, points: Any, num_clusters: Any, indices: Any, centers: Any) -> Any:
        """Return an operation that moves each center to the mean of its points."""
        sums = raw.UnsortedSegmentSum(points, indices, num_clusters)
        ones = raw.Fill(array_ops.stack([raw.Shape(points)[0], 1]), 1.0)
        means = sums / (raw.UnsortedSegmentSum(ones, indices, num_clusters) + _TINY)
        if self._keeps_unit_length:
            means = nn.l2_normalize(means, 1)
        return state_ops.assign(centers, means, validate_shape=False)


class _State(NamedTuple):
    """The variables. `updated` moves in each step of a mini-batch, `centers` sometimes."""

    centers: Any
    is_initialized: Any
    counts: Any
    updated: Any
    steps_left: Any


def check(initial_clusters: clustering_centers.Initial, distance_metric: str) -> None:
    """Check the names of the algorithm and the distance.

    Raises:
        ValueError: one is unknown.
    """
    known = RANDOM_INIT, KMEANS_PLUS_PLUS_INIT
    if isinstance(initial_clusters, str) and initial_clusters not in known:
        raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
    if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
        raise ValueError(f"Unsupported distance metric '{distance_metric}'")


def random_seed_of(seed: int | None) -> int | None:
    """Return the seed of the first centers: that of the graph, as in TensorFlow."""
    return random_seed.get_seed(seed)[0]


def _filled(count: Any, value: int) -> Any:
    return raw.Fill(raw.Reshape(count, [1]), convert.constant(value, dtypes.int64))


def _unshaped(value: Any, name: str) -> Any:
    """Return a variable whose shape its first value gives."""
    return variables.Variable(value, validate_shape=False, name=name, use_resource=False)


def _moved(points: Any, indices: Any, state: _State) -> Any:
    """Return an operation that moves the centers toward the points of a mini-batch.

    A center x that is the mean of n points moves by `(sum of the k new points - k x) / (n + k)`.
    """
    ids, places = array_ops.unique(raw.Reshape(indices, [-1]))
    size = array_ops.size(ids)
    # Another device may get the value of a variable at the start of the step, but not of a read.
    old_counts = raw.GatherV2(state.counts.read_value(), ids, 0)
    old_centers = raw.GatherV2(state.updated.read_value(), ids, 0)
    ones = raw.OnesLike(math_ops.cast(places, dtypes.int64))
    added = raw.UnsortedSegmentSum(ones, places, size)

    def column(numbers: Any) -> Any:
        return raw.ExpandDims(math_ops.cast(numbers, dtypes.float32), 1)

    moves = raw.UnsortedSegmentSum(points, places, size) - column(added) * old_centers
    moves *= 1.0 / column(old_counts + added)
    # The moves are computed from the counts before this batch.
    with context.control_dependencies([moves]):
        counted = state_ops.scatter_add(state.counts, ids, added)
    return control_flow_ops.group(counted, state_ops.scatter_add(state.updated, ids, moves))
