"""The error for a name that Capstan does not have.

It says whether TensorFlow 1.15 has the name, and which name a misspelt one probably means.
"""

import difflib
import sys
from typing import Final

from capstan.core import public

_RENAMED: Final = {
    "batch_cholesky": "tf.cholesky", "batch_matmul": "tf.matmul",
    "complex_abs": "tf.abs", "concat_v2": "tf.concat", "div_v2": "tf.div",
    "histogram_summary": "tf.summary.histogram", "image_summary": "tf.summary.image",
    "audio_summary": "tf.summary.audio", "inv": "tf.reciprocal", "listdiff": "tf.setdiff1d",
    "merge_all_summaries": "tf.summary.merge_all", "merge_summary": "tf.summary.merge",
    "mul": "tf.multiply", "neg": "tf.negative", "pack": "tf.stack",
    "scalar_summary": "tf.summary.scalar", "select": "tf.where", "sub": "tf.subtract",
    "train.SummaryWriter": "tf.summary.FileWriter", "unpack": "tf.unstack",
}  # fmt: skip
"""Names of before TensorFlow 1.0 that 1.x no longer had, with their successors."""
_LACKED: Final = frozenset(
    (
        "LMDBReader", "distribute.cluster_resolver.GCEClusterResolver",
        "distribute.cluster_resolver.KubernetesClusterResolver",
        "distribute.experimental.TPUStrategy",
        "enable_eager_execution", "enable_tensor_equality", "enable_v2_behavior",
        "enable_v2_tensorshape", "estimator.tpu.experimental", "experimental",
        "keras.experimental.terminate_keras_multiprocessing_pools",
        "keras.utils.model_to_dot", "keras.utils.plot_model", "layers.experimental", "lite",
        "saved_model.Asset", "saved_model.SaveOptions", "saved_model.experimental",
        "saved_model.load_v2", "saved_model.save", "train.do_quantize_training_on_graphdef",
        "tpu.batch_parallel", "tpu.core", "tpu.experimental", "tpu.initialize_system",
        "tpu.replicate", "tpu.rewrite", "tpu.shard", "tpu.shutdown_system",
        "train.experimental.PythonState", "user_ops", "xla",
    )
)  # fmt: skip
"""The public names of TensorFlow 1.15 that Capstan lacks, but for those of `tf.contrib`."""
_NEWER: Final = frozenset(
    (
        "image.decode_webp", "io.decode_webp", "tensor_scatter_nd_max", "tensor_scatter_nd_min",
        "test.is_built_with_xla", "types",
    )
)  # fmt: skip
"""Names of TensorFlow 2 that resemble names of Capstan."""
_INSTEAD: Final = {
    "enable_eager_execution": "build a graph, and run it with tf.Session",
}
"""What a program can use instead of a part that Capstan lacks."""
_CLOSE: Final = 0.85
"""A name that is this similar to a name of the module is taken for a misspelling."""


def absent(module: str, name: str) -> AttributeError:
    """Return the AttributeError for a missing `name` of `module`, such as `tf.nn`."""
    inner = module.replace("tf", "capstan", 1)
    path = f"{module}.{name}".removeprefix("tf.")
    cause = _cause(inner, name, path)
    message = f"module {inner!r} has no attribute {name!r}{cause}"
    # With `name` and without `obj`, Python adds no suggestion of its own. It compares names only
    # loosely, and suggests `disable_eager_execution` for `enable_eager_execution`.
    return AttributeError(message, name=name)


def _cause(module: str, name: str, path: str) -> str:
    """Complete the message: say why there is no `path`, and what to write instead."""
    if path in _RENAMED:
        return f": TensorFlow 1.0 renamed it to {_RENAMED[path]}"
    close = None if path in _LACKED or path in _NEWER else _close(module, name)
    if close is not None:
        return f". Did you mean: {close!r}?"
    # `_LACKED` says nothing about `tf.contrib`.
    if path in _LACKED or path.startswith("contrib."):
        instead = _INSTEAD.get(path)
        hint = "" if instead is None else f". Instead, {instead}"
        return f": Capstan lacks this part of TensorFlow 1{hint}"
    return ": TensorFlow 1.15 has no such name"


def _close(module: str, name: str) -> str | None:
    """Return the name of the module that a misspelt name probably means, or None."""
    home = sys.modules.get(module) or sys.modules.get(module.replace(".", ".api.", 1))
    if home is None or name.startswith("_"):
        return None
    names = dir(home) if "__dir__" in vars(home) else public.names(vars(home))
    by_lowercase = {each.lower(): each for each in sorted(names)}
    # A digit is not a misspelling: TensorFlow has both conv2d and conv3d.
    digits = [each for each in name if each.isdigit()]
    for match in difflib.get_close_matches(name.lower(), by_lowercase, 3, _CLOSE):
        known = by_lowercase[match]
        is_as_long = abs(len(known) - len(name)) <= 1
        if is_as_long and [each for each in known if each.isdigit()] == digits:
            return known
    return None
