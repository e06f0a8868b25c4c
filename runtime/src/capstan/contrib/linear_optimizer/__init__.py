"""`tf.contrib.linear_optimizer`: linear models by stochastic dual coordinate ascent."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.linear_optimizer.sdca_model import SdcaModel as SdcaModel
from capstan.contrib.linear_optimizer.sdca_optimizer import SDCAOptimizer as SDCAOptimizer
from capstan.contrib.linear_optimizer.sparse_feature_column import (
    SparseFeatureColumn as SparseFeatureColumn,
)
from capstan.core import alias, public

alias.grow(
    __name__,
    {
        "python.ops.sdca_ops": (f"{__name__}.sdca_model",),
        "python.ops.sharded_mutable_dense_hashtable": (f"{__name__}.sharded_table",),
        "python.ops.sparse_feature_column": (f"{__name__}.sparse_feature_column",),
        "python.sdca_optimizer": (f"{__name__}.sdca_optimizer",),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.linear_optimizer", name)


def __dir__() -> list[str]:
    return public.names(globals())
