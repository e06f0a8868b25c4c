"""Rows of ops on strings (core/ops/string_ops.cc)."""

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import reduction, rules, segments, typesets

define(
    OpDef(
        "StaticRegexFullMatch",
        ("input: string",),
        ("output: bool",),
        attrs={"pattern": bytes},
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "AsString",
        ("input: T",),
        ("output: string",),
        attrs={"precision": -1, "scientific": False, "shortest": False, "width": -1, "fill": b""},
        shape=rules.unchanged,
        not_differentiable=True,
        types={
            "T": (*typesets.NUMERIC, *typesets.COMPLEX, dtypes.bool_, dtypes.string),
        },
    )
)
define(
    OpDef(
        "ReduceJoin",
        ("inputs: string", "reduction_indices: int32"),
        ("output: string",),
        attrs={"keep_dims": False, "separator": b""},
        shape=reduction.reduced,
        not_differentiable=True,
        host=("reduction_indices",),
    )
)
define(
    OpDef(
        "UnsortedSegmentJoin",
        ("inputs: string", "segment_ids: Tindices", "num_segments: Tnumsegments"),
        ("output: string",),
        attrs={"separator": b"", "Tnumsegments": dtypes.int32},
        shape=segments.unsorted_shape,
        not_differentiable=True,
        types={"Tindices": typesets.INDEX, "Tnumsegments": typesets.INDEX},
        host=("num_segments",),
    )
)
for _name, _strings, _attrs in (
    ("StringToHashBucket", "string_tensor", {}),
    ("StringToHashBucketFast", "input", {}),
    ("StringToHashBucketStrong", "input", {"key": list}),
):
    define(
        OpDef(
            _name,
            (f"{_strings}: string",),
            ("output: int64",),
            attrs={"num_buckets": int, **_attrs},
            minima={"num_buckets": 1},
            shape=rules.unchanged,
            not_differentiable=True,
        )
    )
