"""Rows of readers, and of the ops that read and write whole files (core/ops/io_ops.cc).

Each op on readers exists twice. The older op of TensorFlow 1 takes references to the reader and the
queue, and the newer op (`V2`) takes handles.
"""

from typing import Any

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_NAMES = {"container": b"", "shared_name": b""}
_LENGTHS: dict[str, Any] = {
    "header_bytes": 0,
    "record_bytes": int,
    "footer_bytes": 0,
    "hop_bytes": 0,
}
_READERS: dict[str, dict[str, Any]] = {
    "WholeFileReader": _NAMES,
    "TextLineReader": {"skip_header_lines": 0, **_NAMES},
    "FixedLengthRecordReader": {**_LENGTHS, **_NAMES},
    "TFRecordReader": {**_NAMES, "compression_type": b""},
    "IdentityReader": _NAMES,
}


def _reference(ctx: ShapeContext) -> rules.Shapes:
    return ((2,),)


def _scalars(ctx: ShapeContext) -> rules.Shapes:
    return ((), ())


def _vectors(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[-1], 0)
    return ((None,), (None,))


def _restored(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    return ()


def _scalar_of_scalars(ctx: ShapeContext) -> rules.Shapes:
    for shape in ctx.inputs:
        shapes.with_rank(shape, 0)
    return ((),)


def _written(ctx: ShapeContext) -> rules.Shapes:
    _scalar_of_scalars(ctx)
    return ()


def _matching(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank_at_most(ctx.inputs[0], 1)
    return ((None,),)


for _version, _type, _shape in (("", "Ref(string)", _reference), ("V2", "resource", rules.scalar)):
    _reader, _queue = f"reader_handle: {_type}", f"queue_handle: {_type}"
    for _name, _attrs in _READERS.items():
        if _name == "FixedLengthRecordReader" and _version:
            _attrs = {**_attrs, "encoding": b""}
        define(
            OpDef(
                _name + _version,
                outputs=(_reader,),
                attrs=_attrs,
                shape=_shape,
                not_differentiable=True,
                effect=facts.MAKES,
                role=facts.Role.HANDLE,
            )
        )
    for _name, _more, _outputs, _rule in (
        ("ReaderRead", (), ("key: string", "value: string"), _scalars),
        ("ReaderReadUpTo", ("num_records: int64",), ("keys: string", "values: string"), _vectors),
    ):
        define(
            OpDef(
                _name + _version,
                (_reader, _queue, *_more),
                _outputs,
                shape=_rule,
                not_differentiable=True,
                effect=facts.changes("reader_handle", "queue_handle") | facts.BLOCKS,
                host=("num_records",) if _more else (),
            )
        )
    define(
        OpDef(
            f"_ReaderReadRows{_version}",
            (_reader, _queue, f"sink: {_type}", "n: int32"),
            ("keys: string", "values: string"),
            shape=_vectors,
            not_differentiable=True,
            effect=facts.changes("reader_handle", "queue_handle")
            | facts.reads("sink")
            | facts.BLOCKS,
            host=("n",),
        )
    )
    for _name, _output in (
        ("ReaderNumRecordsProduced", "records_produced: int64"),
        ("ReaderNumWorkUnitsCompleted", "units_completed: int64"),
        ("ReaderSerializeState", "state: string"),
    ):
        define(
            OpDef(
                _name + _version,
                (_reader,),
                (_output,),
                shape=rules.scalar,
                not_differentiable=True,
                effect=facts.reads("reader_handle"),
            )
        )
    for _name, _more, _rule in (
        ("ReaderRestoreState", ("state: string",), _restored),
        ("ReaderReset", (), rules.nothing),
    ):
        define(
            OpDef(
                _name + _version,
                (_reader, *_more),
                shape=_rule,
                not_differentiable=True,
                effect=facts.changes("reader_handle"),
            )
        )
for _name, _inputs, _files, _rule in (
    ("ReadFile", ("filename: string",), ("contents: string",), _scalar_of_scalars),
    ("WriteFile", ("filename: string", "contents: string"), (), _written),
    ("MatchingFiles", ("pattern: string",), ("filenames: string",), _matching),
):
    define(
        OpDef(
            _name,
            _inputs,
            _files,
            shape=_rule,
            not_differentiable=True,
            effect=facts.EXTERNAL,
        )
    )
define(
    OpDef(
        "RecordInput",
        (),
        ("records: string",),
        attrs={
            "file_pattern": bytes,
            "file_random_seed": 301,
            "file_shuffle_shift_ratio": 0.0,
            "file_buffer_size": 10000,
            "file_parallelism": 16,
            "batch_size": 32,
            "compression_type": b"",
        },
        shape=lambda _: (None,),
        not_differentiable=True,
        effect=facts.RANDOM | facts.EXTERNAL,
    )
)
