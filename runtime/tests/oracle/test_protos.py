"""Protocol buffers are read and written as in TensorFlow, on a task and by Capstan's functions."""

from typing import Any

import genuine
import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from oracle_tables import outcome

import capstan

pytestmark = genuine.MARKS

FIELDS = {
    "d": (1, 1), "f": (2, 2), "i64": (3, 3), "u64": (4, 4), "i32": (5, 5), "b": (8, 8), "s": (9, 9),
    "y": (12, 12), "u32": (13, 13), "e": (14, 14), "z32": (17, 17), "z64": (18, 18),
}  # fmt: skip
"""The number and the type of each field."""
TYPES = {
    "d": "float64", "f": "float32", "i64": "int64", "u64": "uint64", "i32": "int32", "b": "bool",
    "s": "string", "y": "string", "u32": "uint32", "e": "int32", "z32": "int64", "z64": "int64",
}  # fmt: skip


def described() -> Any:
    """Return the description of a message whose fields exist once (`d`) and repeated (`rd`)."""
    file = descriptor_pb2.FileDescriptorProto(name="t.proto", package="t", syntax="proto2")
    kinds = file.enum_type.add(name="Kind")
    for number, name in enumerate(("NONE", "SOME", "ALL")):
        kinds.value.add(name=name, number=number)
    made = file.message_type.add(name="All")
    for name, (number, kind) in FIELDS.items():
        for prefix, label, more in (("", 1, 0), ("r", 3, 100)):
            field = made.field.add(name=prefix + name, number=number + more, type=kind, label=label)
            if kind == 14:
                field.type_name = ".t.Kind"
    made.field.add(name="part", number=90, type=11, label=1, type_name=".t.All")
    made.field.add(name="parts", number=91, type=11, label=3, type_name=".t.All")
    made.field.add(name="given", number=92, type=5, label=1, default_value="7")
    return file


def source() -> bytes:
    files = descriptor_pb2.FileDescriptorSet(file=[described()])
    return b"bytes://" + files.SerializeToString()


def messages() -> list[bytes]:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(described().SerializeToString())
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("t.All"))
    full = made(
        d=1.5, f=2.5, i64=-3, u64=2**63, i32=-5, b=True, s="ä", y=b"\xff", u32=2**31, e=2, z32=-6,
        z64=-7, rd=[1, 2], ri64=[3], rb=[True, False, True], rs=["a", "b"], re=[1, 2], ry=[b""],
        given=0,
    )  # fmt: skip
    full.part.i32 = 4
    full.parts.add(s="x")
    full.parts.add()
    small = made(rd=[4], rs=["c", "d", "e"], i32=0)
    return [each.SerializeToString() for each in (full, small, made())]


def decoded(tf: Any, texts: Any, names: list[str], **options: Any) -> list[Any]:
    kinds = {"part": "string", "parts": "string", "given": "int32"}
    types = [kinds.get(name) or TYPES[name if name in TYPES else name[1:]] for name in names]
    found = tf.io.decode_proto(
        texts, "t.All", names, [tf.as_dtype(each) for each in types], source(), **options
    )
    return [found.sizes, *found.values]


NAMES = [*FIELDS, *(f"r{name}" for name in FIELDS), "part", "parts", "given"]


def results(tf: Any, v1: Any, target: str, build: Any) -> Any:
    with v1.Graph().as_default(), v1.Session(target) as session:
        try:
            found = session.run(build(v1))
        except v1.errors.OpError as error:
            return type(error).__name__
    return [(each.dtype.name, each.shape, each.tolist()) for each in map(np.asarray, found)]


CASES = [
    lambda v1: decoded(v1, messages(), NAMES),
    lambda v1: decoded(v1, [messages()[1:]], ["rs", "i32"]),
    lambda v1: decoded(v1, messages()[0], ["parts", "re"], sanitize=True),
    lambda v1: decoded(v1, [b""], ["d", "rs", "b", "part", "given"]),
    lambda v1: decoded(v1, ["d: 2 rs: 'a' rs: 'b'", ""], ["rs", "d"], message_format="text"),
    lambda v1: [
        v1.io.encode_proto(
            np.int32([[1, 2, 1], [0, 1, 0]]),
            [np.int32([[4], [0]]), [["a", "b"], ["c", ""]], [[True], [False]]],
            ["i32", "rs", "b"], "t.All", source(),
        )
    ],
]  # fmt: skip
WRONG = [
    (lambda v1: decoded(v1, ["\x08"], ["d"]), "DataLossError"),
    (lambda v1: decoded(v1, ["d: x"], ["d"], message_format="text"), "DataLossError"),
    (
        lambda v1: list(v1.io.decode_proto([""], "t.None", ["d"], [v1.float64], source())[1]),
        "InvalidArgumentError",
    ),
    (
        lambda v1: list(v1.io.decode_proto([""], "t.All", ["none"], [v1.float64], source())[1]),
        "InvalidArgumentError",
    ),
    (
        lambda v1: list(v1.io.decode_proto([""], "t.All", ["d"], [v1.string], source())[1]),
        "InvalidArgumentError",
    ),
]


def test_messages_are_read_and_written(tf: Any, v1: Any, tasks: genuine.Tasks) -> None:
    for number, build in enumerate(CASES):
        expected = results(tf, v1, "", build)
        assert results(tf, v1, tasks.target(), build) == expected, f"case {number}"
        assert outcome(capstan, build) == outcome(v1, build), f"case {number}"


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_messages_are_refused(tf: Any, v1: Any, tasks: genuine.Tasks, number: int) -> None:
    build, expected = WRONG[number]
    assert [results(tf, v1, target, build) for target in ("", tasks.target())] == [expected] * 2


def test_the_descriptors_of_messages_are_found(
    tf: Any, v1: Any, tasks: genuine.Tasks, tmp_path: Any
) -> None:
    (tmp_path / "set").write_bytes(source()[len(b"bytes://") :])
    number = capstan.train.Feature(int64_list=capstan.train.Int64List(value=[3]))
    features = capstan.train.Features(feature={"a": number})
    example = capstan.train.Example(features=features).SerializeToString()
    cases: list[Any] = [
        lambda v1: list(
            v1.io.decode_proto([example], "tensorflow.Example", ["features"], [v1.string])[1]
        ),
        lambda v1: list(
            v1.io.decode_proto(
                messages(), "t.All", ["rs"], [v1.string], str(tmp_path / "set")
            ).values
        ),
    ]
    for build in cases:
        expected = results(tf, v1, "", build)
        assert results(tf, v1, tasks.target(), build) == expected
        assert outcome(capstan, build) == outcome(v1, build)
