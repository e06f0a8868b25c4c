"""`tf.compat.v2`: the interface of TensorFlow 2 that TensorFlow 1.15 has, on graphs.

A name is that of `tf` with another meaning (`compat.changed`), or the same as in `tf`
(`kept_names`), or it has moved, as `tf.keras.losses` to `tf.compat.v2.losses`.
"""

import operator
import sys
from collections.abc import Mapping
from typing import Final

from capstan.compat import kept_keras_names, kept_names
from capstan.compat.changed import reordered, rows
from capstan.core import alias

_KERAS: Final = "capstan.keras"
_CHANGED: Final = f"{__name__.rpartition('.')[0]}.changed"


def _homes(module: str, names: str) -> dict[str, str]:
    return {name: f"{_CHANGED}.{module}.{name}" for name in names.split()}


INITIALIZERS: Final = _homes(
    "initializers",
    """
    Constant GlorotNormal GlorotUniform Identity Initializer Ones Orthogonal RandomNormal
    RandomUniform TruncatedNormal VarianceScaling Zeros constant deserialize get glorot_normal
    glorot_uniform he_normal he_uniform identity lecun_normal lecun_uniform ones orthogonal
    serialize zeros
    """,
)
_CHANGES: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        **_homes("arrays", "batch_to_space constant"),
        **_homes("graphs", "cond device gradients hessians name_scope while_loop"),
        "Variable": "capstan.api.variable_class.Variable",
        "where": "capstan.api.gather_ops.where_v2",
        **{
            f"{name}_initializer": f"{_CHANGED}.initializers.{kind}"
            for name, kind in (
                *(("constant", "Constant"), ("ones", "Ones"), ("zeros", "Zeros")),
                *(("random_normal", "RandomNormal"), ("random_uniform", "RandomUniform")),
            )
        },
    },
    "image": _homes(
        "images",
        "ResizeMethod extract_glimpse resize resize_with_pad sample_distorted_bounding_box",
    ),
    "initializers": INITIALIZERS,
    "io": _homes("arrays", "decode_raw"),
    "keras.initializers": INITIALIZERS,
    "keras.layers": _homes("layers", "BatchNormalization GRU GRUCell LSTM LSTMCell"),
    "keras.losses": {"Reduction": f"{_KERAS}.loss_classes.Reduction"},
    "losses": {"Reduction": f"{_KERAS}.loss_classes.Reduction"},
    "math": _homes("arrays", "bincount"),
    "nn": _homes(
        "networks",
        """
        conv2d conv3d dilation2d embedding_lookup embedding_lookup_sparse erosion2d
        fractional_avg_pool fractional_max_pool nce_loss safe_embedding_lookup_sparse
        sampled_softmax_loss
        """,
    ),
    "random": {"set_seed": "capstan.set_random_seed"},
    "sparse": {
        f"reduce_{each}": f"{_CHANGED}.arrays.sparse_reduce_{each}" for each in ("max", "sum")
    },
    "strings": _homes("arrays", "split"),
    "summary": {
        **_homes("summaries", "audio histogram image scalar text"),
        "SummaryWriter": "capstan.train.graph_writers.SummaryWriter",
        "create_file_writer": "capstan.train.graph_writers.create_file_writer_v2",
        "create_noop_writer": "capstan.train.graph_writers.create_noop_writer",
        "flush": "capstan.train.graph_writers.flush",
        "record_if": "capstan.train.graph_writers.record_if",
        "write": "capstan.train.graph_summaries.write",
    },
    "summary.experimental": {
        "get_step": "capstan.train.graph_writers.get_step",
        "set_step": "capstan.train.graph_writers.set_step",
        "summary_scope": "capstan.train.graph_summaries.summary_scope",
        "write_raw_pb": "capstan.train.graph_summaries.write_raw_pb",
    },
    "test": {
        **_homes("graphs", "assert_equal_graph_def"),
        "compute_gradient": "capstan.api.gradient_checker_v2.compute_gradient",
    },
}
"""The names by module, with the paths of what they are."""
_MOVED: Final = {
    "losses": "keras.losses",
    "metrics": "keras.metrics",
    "optimizers": "keras.optimizers",
    "optimizers.schedules": "keras.optimizers.schedules",
}
"""The modules that are others, with the same names."""
_KEPT: Final = {**kept_names.NAMES, **kept_keras_names.NAMES}


LACKED: Final = frozenset(
    (
        "config.experimental_connect_to_cluster", "config.experimental_connect_to_host",
        "config.experimental.VirtualDeviceConfiguration", "config.experimental.get_device_policy",
        "config.experimental.get_synchronous_execution",
        "config.experimental.get_virtual_device_configuration",
        "config.experimental.set_device_policy", "config.experimental.set_synchronous_execution",
        "config.experimental.set_virtual_device_configuration",
        "distribute.cluster_resolver.GCEClusterResolver",
        "distribute.cluster_resolver.KubernetesClusterResolver",
        "distribute.cluster_resolver.TPUClusterResolver", "distribute.experimental.TPUStrategy",
        "estimator.BaselineClassifier", "estimator.BaselineEstimator",
        "estimator.BaselineRegressor", "estimator.DNNClassifier", "estimator.DNNEstimator",
        "estimator.DNNLinearCombinedClassifier", "estimator.DNNLinearCombinedEstimator",
        "estimator.DNNLinearCombinedRegressor", "estimator.DNNRegressor",
        "estimator.LinearClassifier", "estimator.LinearEstimator", "estimator.LinearRegressor",
        "estimator.experimental.RNNClassifier", "estimator.experimental.RNNEstimator",
        "experimental", "feature_column.shared_embeddings", "keras.callbacks.TensorBoard",
        "keras.estimator", "keras.experimental.terminate_keras_multiprocessing_pools",
        "keras.utils.model_to_dot", "keras.utils.plot_model", "lite", "nn.RNNCellDeviceWrapper",
        "nn.RNNCellDropoutWrapper", "nn.RNNCellResidualWrapper", "saved_model.Asset",
        "saved_model.SaveOptions", "saved_model.load", "saved_model.save",
        "summary.trace_export", "summary.trace_off", "summary.trace_on", "tpu",
        "train.experimental.PythonState", "xla",
    )
)  # fmt: skip
"""The names of TensorFlow 1.15 that Capstan lacks."""


def modules() -> dict[str, alias.Homes]:
    """Return what the modules of `tf.compat.v2` have, by path. `v2` itself is the first."""
    paths = sorted({*_CHANGES, *rows.ROWS, *_KEPT, *_MOVED})
    own = {f"v2.{path}".rstrip("."): _homes_of(path) for path in paths}
    return {**own, "v2.compat": ("capstan.compat",), "v2.raw_ops": ("capstan.raw_ops",)}


def _homes_of(path: str) -> alias.Homes:
    parsed = [reordered.parse(path, row) for row in rows.ROWS.get(path, ())]
    functions = {row.name: reordered.function(row) for row in parsed}
    home = _MOVED.get(path, path)
    module = f"capstan.{home}".rstrip(".")
    kept = {name: f"{module}.{name}" for name in _KEPT.get(home, "").split()}
    return (_CHANGES.get(path, {}), functions, kept)


def absent(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module of `tf.compat.v2` does not have."""
    path = f"{module}.{name}".partition(".compat.v2.")[2]
    cause = "Capstan lacks this part of" if path in LACKED else "there is no such name in"
    message = f"module {module!r} has no attribute {name!r}: {cause} tf.compat.v2"
    try:
        operator.attrgetter(path)(sys.modules["capstan"])
    except AttributeError:
        return AttributeError(message, name=name)
    return AttributeError(f"{message}. tf.compat.v1.{path} is similar", name=name)
