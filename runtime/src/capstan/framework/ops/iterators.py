"""Rows of iterators, and of the ops that run a whole dataset (core/ops/dataset_ops.cc)."""

from typing import Any, Final

from capstan.core import function
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

ELEMENTS: Final = ("IteratorGetNext", "IteratorGetNextSync")
"""The ops that return the next element of an iterator. They fail at the end of its dataset."""

_TYPED: dict[str, Any] = {"output_types": list, "output_shapes": list}
_MINIMA = {"output_types": 1, "output_shapes": 1}


def _declared(ctx: ShapeContext) -> rules.Shapes:
    types, declared = ctx.attrs["output_types"], ctx.attrs["output_shapes"]
    if len(types) != len(declared):
        raise ValueError("`output_types` and `output_shapes` must have the same length")
    return rules.declared(types, declared)


def _with_deleter(ctx: ShapeContext) -> rules.Shapes:
    return ((), ())


for _op in ("Iterator", "IteratorV2"):
    define(
        OpDef(
            _op,
            outputs=("handle: resource",),
            attrs={"shared_name": bytes, "container": bytes, **_TYPED},
            minima=_MINIMA,
            shape=rules.scalar,
            not_differentiable=True,
            effect=facts.MAKES,
            role=facts.Role.HANDLE,
        )
    )
for _op, _outputs in (
    ("AnonymousIterator", ("handle: resource",)),
    ("AnonymousIteratorV2", ("handle: resource", "deleter: variant")),
    ("AnonymousIteratorV3", ("handle: resource",)),
):
    define(
        OpDef(
            _op,
            outputs=_outputs,
            attrs=_TYPED,
            minima=_MINIMA,
            shape=rules.scalar if len(_outputs) == 1 else _with_deleter,
            not_differentiable=True,
            effect=facts.MAKES,
        )
    )
define(
    OpDef(
        "DeleteIterator",
        ("handle: resource", "deleter: variant"),
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.changes("handle"),
    )
)
define(
    # The function begins the pass when a step first asks for an element.
    OpDef(
        "OneShotIterator",
        outputs=("handle: resource",),
        attrs={
            "dataset_factory": function.Reference,
            **_TYPED,
            "container": b"",
            "shared_name": b"",
        },
        minima=_MINIMA,
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.MAKES,
        role=facts.Role.KEEPS,
    )
)
define(
    OpDef(
        "MakeIterator",
        ("dataset: variant", "iterator: resource"),
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.changes("iterator"),
    )
)
for _op in ELEMENTS:
    define(
        OpDef(
            _op,
            ("iterator: resource",),
            ("components: output_types",),
            attrs=_TYPED,
            minima=_MINIMA,
            shape=_declared,
            not_differentiable=True,
            effect=facts.changes("iterator") | facts.BLOCKS,
        )
    )
define(
    OpDef(
        "IteratorGetNextAsOptional",
        ("iterator: resource",),
        ("optional: variant",),
        attrs=_TYPED,
        minima=_MINIMA,
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.changes("iterator") | facts.BLOCKS,
    )
)
define(
    OpDef(
        "IteratorToStringHandle",
        ("resource_handle: resource",),
        ("string_handle: string",),
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.reads("resource_handle"),
    )
)
for _op in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    define(
        OpDef(
            _op,
            ("string_handle: string",),
            ("resource_handle: resource",),
            attrs={"output_types": [], "output_shapes": []},
            shape=rules.scalar,
            not_differentiable=True,
            effect=facts.MAKES,
            host=("string_handle",),
        )
    )
define(
    OpDef(
        "SerializeIterator",
        ("resource_handle: resource",),
        ("serialized: variant",),
        attrs={"external_state_policy": 0},
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.reads("resource_handle"),
    )
)
define(
    OpDef(
        "DeserializeIterator",
        ("resource_handle: resource", "serialized: variant"),
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.changes("resource_handle"),
    )
)
for _op, _attrs in (
    ("DatasetCardinality", {"cardinality_options": b""}),
    ("ExperimentalDatasetCardinality", {}),
):
    define(
        OpDef(
            _op,
            ("input_dataset: variant",),
            ("cardinality: int64",),
            attrs=_attrs,
            shape=rules.scalar,
            not_differentiable=True,
        )
    )
define(
    OpDef(
        "DatasetToSingleElement",
        ("dataset: variant",),
        ("components: output_types",),
        attrs={**_TYPED, "metadata": b""},
        minima=_MINIMA,
        shape=_declared,
        not_differentiable=True,
        effect=facts.EXTERNAL | facts.BLOCKS,
    )
)
for _op in ("DatasetToTFRecord", "ExperimentalDatasetToTFRecord"):
    define(
        OpDef(
            _op,
            ("input_dataset: variant", "filename: string", "compression_type: string"),
            shape=rules.nothing,
            not_differentiable=True,
            effect=facts.EXTERNAL | facts.BLOCKS,
            host=("filename", "compression_type"),
        )
    )
define(
    OpDef(
        "ReduceDataset",
        ("input_dataset: variant", "initial_state: Tstate", "other_arguments: Targuments"),
        ("components: output_types",),
        attrs={
            "f": function.Reference,
            "Tstate": list,
            "Targuments": list,
            **_TYPED,
            "use_inter_op_parallelism": True,
            "metadata": b"",
        },
        minima={**_MINIMA, "Tstate": 1},
        shape=_declared,
        not_differentiable=True,
        effect=facts.EXTERNAL | facts.BLOCKS,
        role=facts.Role.KEEPS,
    )
)
