"""`tf.contrib`: the names of TensorFlow 1's contrib that programs of Capstan use.

`tf.contrib.training` has the strategies for parameter servers, `tf.contrib.rnn` the cells of
recurrent networks, and `tf.contrib.testing` what tests of summaries need. These modules are
aliases: nothing is imported before a name is asked for. The modules that have files, such as
`tf.contrib.layers`, are imported at their first use.
"""

import importlib
from typing import Any

from capstan.api.absent import absent
from capstan.contrib import aliases
from capstan.core import alias

alias.grow(__name__, aliases.TABLE)

_PACKAGES = frozenset(
    (
        "checkpoint",
        "cluster_resolver",
        "constrained_optimization",
        "crf",
        "cudnn_rnn",
        "data",
        "distribute",
        "distributions",
        "feature_column",
        "estimator",
        "framework",
        "gan",
        "graph_editor",
        "layers",
        "learn",
        "linear_optimizer",
        "image",
        "integrate",
        "kernel_methods",
        "legacy_seq2seq",
        "losses",
        "metrics",
        "mixed_precision",
        "model_pruning",
        "nn",
        "opt",
        "predictor",
        "quantize",
        "resampler",
        "seq2seq",
        "slim",
        "sparsemax",
        "timeseries",
        "tpu",
    )
)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    raise absent("tf.contrib", name)


def __dir__() -> list[str]:
    return sorted({*_PACKAGES, *alias.inside(globals())})
