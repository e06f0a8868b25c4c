"""Rows of the ops that change the encoding of strings (core/ops/{string,parsing}_ops.cc)."""

from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

define(
    OpDef(
        "EncodeBase64",
        ("input: string",),
        ("output: string",),
        attrs={"pad": False},
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "DecodeBase64",
        ("input: string",),
        ("output: string",),
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "DecodeJSONExample",
        ("json_examples: string",),
        ("binary_examples: string",),
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "DecodeCompressed",
        ("bytes: string",),
        ("output: string",),
        attrs={"compression_type": b""},
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
