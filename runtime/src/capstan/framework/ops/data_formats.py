"""Rows of ops that turn axes of one data format into those of another (core/ops/nn_ops.cc)."""

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules, typesets

_ATTRS = {"T": dtypes.int32, "src_format": b"NHWC", "dst_format": b"NCHW"}


for _name in ("DataFormatDimMap", "DataFormatVecPermute"):
    define(
        OpDef(
            _name,
            ("x: T",),
            ("y: T",),
            attrs=_ATTRS,
            shape=rules.unchanged,
            not_differentiable=True,
            types={"T": typesets.INDEX},
        )
    )
