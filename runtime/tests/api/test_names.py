"""Tests of the names that `import capstan as tf` gives, and of the cost of the import."""

import importlib
import operator
import subprocess
import sys
import textwrap

import pytest

import capstan as tf
from capstan.api import absent

API = [
    "accumulators",
    "array_ops",
    "check_ops",
    "clip_ops",
    "cond_ops",
    "control_flow_bodies",
    "control_flow_ops",
    "custom_gradient",
    "data_flow_ops",
    "example_ops",
    "framework",
    "functional_ops",
    "gather_ops",
    "hessians",
    "importer",
    "input_ops",
    "io_ops",
    "math_ops",
    "parsing_ops",
    "random_ops",
    "reduce_ops",
    "session_ops",
    "script_ops",
    "state_ops",
    "string_ops",
    "switch_case_ops",
    "tensor_array_ops",
    "tensor_products",
    "while_ops",
]


@pytest.mark.parametrize("module", API)
def test_every_public_name_of_the_wrappers_is_one_of_tf(module: str) -> None:
    wrappers = importlib.import_module(f"capstan.api.{module}")
    for name in wrappers.__all__:
        found, wrapper = getattr(tf, name), getattr(wrappers, name)
        # Some functions of `tf` also take ragged tensors, and call the wrapper for tensors.
        is_same = found is wrapper or getattr(found, "__wrapped__", None) is wrapper
        assert is_same, f"tf.{name} is a different object"


def test_no_name_is_exported_by_two_modules() -> None:
    homes: dict[str, list[str]] = {}
    for module in API:
        for name in importlib.import_module(f"capstan.api.{module}").__all__:
            homes.setdefault(name, []).append(module)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", sorted({*tf._MODULES, *tf._ATTRIBUTES}))
def test_names_that_are_imported_late_exist(name: str) -> None:
    assert getattr(tf, name) is getattr(tf, name)
    assert name in dir(tf)


def test_a_missing_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'capstan' has no attribute 'no_such_thing'"):
        _ = tf.no_such_thing


@pytest.mark.parametrize(
    "module",
    ["app", "compat", "distribute", "errors", "flags", "logging", "nn", "train"],
)
def test_a_missing_name_of_a_tf_module_raises_an_error_that_names_it(module: str) -> None:
    message = f"module 'capstan.{module}' .*'collapse_residuals': TensorFlow 1.15 has no such name"
    with pytest.raises(AttributeError, match=message):
        _ = getattr(tf, module).collapse_residuals
    assert not hasattr(getattr(tf, module), "collapse_residuals")


@pytest.mark.parametrize("path", [*sorted(absent._LACKED), "contrib.collapse_residuals"])
def test_a_name_that_only_tensorflow_has_raises_an_error_that_says_so(path: str) -> None:
    with pytest.raises(AttributeError, match=": Capstan lacks this part of TensorFlow 1") as caught:
        operator.attrgetter(path)(tf)
    assert caught.value.name == path.rpartition(".")[2]


@pytest.mark.parametrize("path", sorted(absent._NEWER))
def test_a_name_of_tensorflow_2_is_not_taken_for_a_misspelling(path: str) -> None:
    with pytest.raises(AttributeError, match=r": TensorFlow 1\.15 has no such name$"):
        operator.attrgetter(path)(tf)


def test_types_have_tensorflows_names() -> None:
    for dtype in (tf.float32, tf.bool, tf.string, tf.int8, tf.uint64, tf.bfloat16):
        assert getattr(tf, dtype.name) is dtype
    assert tf.half is tf.float16
    assert tf.double is tf.float64


def test_tf_compat_v1_is_tf() -> None:
    assert tf.compat.v1 is tf
    assert tf.distribute.cluster_resolver.TFConfigClusterResolver is not None


def test_protocol_messages_have_tensorflows_fields() -> None:
    config = tf.ConfigProto(allow_soft_placement=True)
    config.device_filters.append("/job:ps")
    assert type(config).DESCRIPTOR.full_name == "tensorboard.ConfigProto"
    assert tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE).trace_level == 3
    assert tf.GraphDef().node is not None
    with pytest.raises((TypeError, ValueError)):
        tf.ConfigProto(no_such_field=1)


PROBE = """
    import sys
    import capstan
    heavy = sorted({name.partition(".")[0] for name in sys.modules} & {
        "absl", "asyncio", "google", "grpc", "ml_dtypes", "re2", "scipy", "tensorboard",
    })
    import psutil
    print(psutil.Process().memory_info().rss, *heavy)
"""


@pytest.mark.e2e
@pytest.mark.alone
def test_the_import_takes_little_memory_and_imports_no_heavy_packages() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROBE)], capture_output=True, text=True, check=True
    )
    resident, *heavy = answer.stdout.split()
    assert heavy == []
    assert int(resident) < 70 * 2**20


@pytest.mark.parametrize(
    "value, text, raw",
    [("ä", "ä", "ä".encode()), (b"a", "a", b"a"), (bytearray(b"a"), "a", b"a")],
)
def test_text_and_bytes_are_converted_into_each_other(value: object, text: str, raw: bytes) -> None:
    assert tf.compat.as_text(value) == tf.compat.as_str(value) == text
    assert tf.compat.as_bytes(value) == raw


def test_only_as_str_any_converts_other_values() -> None:
    assert tf.compat.as_str_any(3) == "3"
    assert tf.compat.as_str_any(b"a") == "a"
    for convert in (tf.compat.as_text, tf.compat.as_bytes):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
            convert(3)


@pytest.mark.parametrize(
    "module, name, message",
    [
        ("", "reduce_summ", "module 'capstan' has no attribute 'reduce_summ'. "
                            "Did you mean: 'reduce_sum'?"),
        ("nn", "soft_max", "module 'capstan.nn' has no attribute 'soft_max'. "
                           "Did you mean: 'softmax'?"),
        ("", "session", "module 'capstan' has no attribute 'session'. Did you mean: 'Session'?"),
        ("", "varable", "module 'capstan' has no attribute 'varable'. Did you mean: 'Variable'?"),
        ("", "enable_eager_execution",
         "module 'capstan' has no attribute 'enable_eager_execution': Capstan lacks this part of "
         "TensorFlow 1. Instead, build a graph, and run it with tf.Session"),
        ("", "mul", "module 'capstan' has no attribute 'mul': "
                    "TensorFlow 1.0 renamed it to tf.multiply"),
        ("train", "SummaryWriter", "module 'capstan.train' has no attribute 'SummaryWriter': "
                                   "TensorFlow 1.0 renamed it to tf.summary.FileWriter"),
        ("train", "do_quantize_training_on_graphdef",
         "module 'capstan.train' has no attribute 'do_quantize_training_on_graphdef': "
         "Capstan lacks this part of TensorFlow 1"),
    ],
)  # fmt: skip
def test_a_missing_name_says_which_name_is_meant(module: str, name: str, message: str) -> None:
    home = getattr(tf, module) if module else tf
    with pytest.raises(AttributeError) as caught:
        getattr(home, name)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["enable_eager_execution", "reduce_summ"])
def test_python_adds_no_suggestion_to_the_error_of_a_missing_name(name: str) -> None:
    program = f"import capstan as tf; tf.{name}"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    with pytest.raises(AttributeError) as caught:
        getattr(tf, name)
    assert ended.stderr.splitlines()[-1] == f"AttributeError: {caught.value}"


@pytest.mark.parametrize("name", sorted(absent._LACKED | set(absent._RENAMED)))
def test_a_name_that_is_called_absent_is_absent(name: str) -> None:
    with pytest.raises(AttributeError):
        operator.attrgetter(name)(tf)
