"""`tf.Module`, `tf.debugging.assert_shapes` and the dates of `tf.compat` are TensorFlow's."""

import pathlib
from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS


def module_of(tf: Any) -> Any:
    class DenseLayer(tf.Module):
        def __init__(self, name: Any = None) -> None:
            super().__init__(name=name)
            with self.name_scope:
                self.w = tf.Variable([1.0], name="w", use_resource=True)
            self.more = {"b": [tf.Variable(2, name="b"), 3], "a": (tf.Variable(1, False),)}

        @tf.Module.with_name_scope
        def product(self, x: Any) -> Any:
            """Multiply."""
            return tf.multiply(self.w, x, name="product")

    class Two(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope:
                self.second = DenseLayer("other")
                self.first = [DenseLayer(), DenseLayer()]
            self.again = self.second

    return Two()


def test_a_module_finds_its_variables_and_submodules(v1: Any) -> None:
    def described(tf: Any) -> Any:
        with tf.Graph().as_default():
            two = module_of(tf)
            paths = [
                (path, type(leaf).__name__ == "DenseLayer")
                for path, leaf in two._flatten(
                    with_path=True, predicate=lambda x: not isinstance(x, str | int)
                )
            ]
            return [
                [variable.name for variable in two.variables],
                [variable.name for variable in two.trainable_variables],
                [(module.name, module._scope_name) for module in two.submodules],
                [path for path in paths if path[1]],
                two.name, two.first[0].product(3.0).name, two.first[0].product.__doc__,
            ]  # fmt: skip

    assert described(tf) == described(v1)
    for module in (v1, tf):
        with pytest.raises(ValueError, match="is not a valid module name"):
            module.Module(name="a b")


def test_a_subclass_names_more_attributes_in_which_the_module_finds_nothing(v1: Any) -> None:
    def found(tf: Any) -> Any:
        class Cached(tf.Module):
            _TF_MODULE_IGNORED_PROPERTIES = tf.Module._TF_MODULE_IGNORED_PROPERTIES.union(["cache"])

        with tf.Graph().as_default():
            module = Cached()
            module.weight, module.cache = tf.Variable(1.0, name="w"), [tf.Variable(2.0, name="c")]
            return [variable.name for variable in module.variables]

    assert found(tf) == found(v1) == ["w:0"]


def test_a_module_is_saved(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        two = module_of(tf)
        session.run(tf.global_variables_initializer())
        session.run(two.second.w.assign([7.0]))
        path = tf.train.Checkpoint(two=two).save(str(tmp_path / "model"), session=session)
        names = [name for name, _ in tf.train.list_variables(path)]
    assert "two/first/0/w/.ATTRIBUTES/VARIABLE_VALUE" in names


@pytest.mark.parametrize(
    ("shapes", "is_wrong"),
    [
        ({"x": ("N", 3), "y": ("N", "M", 2)}, False),
        ({"x": ("N", 3), "y": ("M", "N", 2)}, True),
        ({"x": (..., 3), "y": ("*", None, 2)}, False),
        ({"x": (2, 4)}, True),
        ({"x": (2, 3, 1)}, True),
        ({"x": ("N", ".")}, False),
        ({"s": (), "v": (1,)}, False),
        ({"s": ("A",), "v": ("A",)}, False),
        ({"v": (..., "K"), "y": ("*", "K", 2)}, True),
        ({"x": (2, ...)}, True),
        ({"x": 3}, True),
        ({"x": None}, False),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_shapes_are_checked_where_they_are_known(
    v1: Any, shapes: Any, is_wrong: bool, is_known: bool
) -> None:
    values = {"x": [[1.0] * 3] * 2, "y": [[[1.0] * 2] * 5] * 2, "s": 4.0, "v": [3.0]}

    def outcome(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            tensors = {
                name: tf.constant(value) if is_known else tf.placeholder(tf.float32)
                for name, value in values.items()
            }
            fed = {} if is_known else {tensors[name]: value for name, value in values.items()}
            try:
                pairs = {tensors[name]: shape for name, shape in shapes.items()}
                check = tf.debugging.assert_shapes(list(pairs.items()), message="Oh")
                session.run(check, fed)
            except (ValueError, tf.errors.InvalidArgumentError) as error:
                return type(error).__name__
        return None

    assert outcome(tf) == outcome(v1)
    assert (outcome(tf) is not None) == is_wrong


def test_graphs_may_have_what_tensorflow_had(monkeypatch: Any) -> None:
    assert tf.compat.forward_compatible(2019, 8, 20)
    assert not tf.compat.forward_compatible(2019, 8, 21)
    with tf.compat.forward_compatibility_horizon(2018, 11, 2):
        assert tf.compat.forward_compatible(2018, 11, 1)
        assert not tf.compat.forward_compatible(2018, 11, 2)
    assert tf.compat.forward_compatible(2019, 8, 20)
    monkeypatch.setenv("TF_FORWARD_COMPATIBILITY_DELTA_DAYS", "10")
    assert tf.compat.forward_compatible(2019, 8, 30)


def test_a_path_becomes_text(v1: Any) -> None:
    for module in (v1, tf):
        assert module.compat.path_to_str(pathlib.Path("a/./b")) == "a/b"
        assert module.compat.path_to_str("a/./b") == "a/./b"


def values(tf: Any, program: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return [np.asarray(value) for value in session.run(program(tf))]


def test_rows_have_tensorflows_hashes(v1: Any) -> None:
    numbers = np.random.default_rng(2).standard_normal((5, 40)).astype(np.float32)

    def program(tf: Any) -> Any:
        texts = [["a", "bc"], ["", "x" * 100]]
        data = [numbers, numbers[:, :1], numbers.astype(np.int64)[0], texts, texts[0]]
        return [tf.fingerprint(each) for each in data] + [tf.fingerprint(np.zeros([2, 3, 0]))]

    for own, expected in zip(values(tf, program), values(v1, program), strict=True):
        np.testing.assert_array_equal(own, expected)
    for module in (v1, tf):
        with pytest.raises(ValueError, match="Unsupported method: md5"):
            values(module, lambda tf: [tf.fingerprint(["a"], "md5")])


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("kinds", [("float32", "float32"), ("bfloat16", "float32")])
def test_sparse_matrices_are_multiplied(v1: Any, turned: Any, kinds: Any) -> None:
    random = np.random.default_rng(5)
    a, b = (
        (random.integers(-3, 4, shape) * random.integers(0, 2, shape)).astype(np.float32)
        for shape in ((4, 3), (3, 5))
    )

    def program(tf: Any) -> Any:
        x = tf.cast(tf.constant(a.T if turned[0] else a), kinds[0])
        y = tf.cast(tf.constant(b.T if turned[1] else b), kinds[1])
        product = tf.sparse_matmul(x, y, *turned, a_is_sparse=True)
        weights = np.arange(20, dtype=np.float32).reshape(4, 5)
        slopes = tf.gradients(product, [x, y], tf.constant(weights))
        dense = tf.matmul(x, y, transpose_a=turned[0], transpose_b=turned[1])
        return [product, dense, *(tf.cast(slope, tf.float32) for slope in slopes)]

    for own, expected in zip(values(tf, program), values(v1, program), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-2)


@pytest.mark.parametrize("is_resource", [True, False])
def test_elements_of_batches_are_set(v1: Any, is_resource: bool) -> None:
    def found(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            held = tf.Variable(np.zeros([2, 3, 4, 2]), use_resource=is_resource)
            indices = np.array([[[0, 3], [1, 0], [2, 2]], [[1, 2], [3, 0], [0, 1]]])
            updates = np.arange(24.0).reshape(2, 3, 2, 2)
            session.run(held.initializer)
            session.run(tf.batch_scatter_update(held, indices, updates))
            row = tf.Variable([0, 0, 0], use_resource=is_resource)
            session.run(row.initializer)
            session.run(tf.batch_scatter_update(row, [2, 0], [4, 5]))
            return session.run([held, row])

    (own, row), (expected, expected_row) = found(tf), found(v1)
    np.testing.assert_array_equal(row, expected_row)
    mask = np.ones(own.shape, bool)
    mask[0, 2, 2] = False  # One of two values for the same element.
    np.testing.assert_array_equal(own[mask], expected[mask])


def test_a_missing_library_is_reported_as_by_tensorflow(v1: Any, tmp_path: pathlib.Path) -> None:
    missing = str(tmp_path / "missing.so")
    for each in (v1, tf):
        for load in (each.load_op_library, each.load_file_system_library):
            with pytest.raises(each.errors.NotFoundError, match="cannot open shared object file"):
                load(missing)
        with pytest.raises(OSError, match="does not exist"):
            each.load_library(missing)
        assert each.load_library(str(tmp_path)) is None


def test_a_library_of_cpp_code_is_refused_with_advice(tmp_path: pathlib.Path) -> None:
    for name in ("libtfkernel_a.so", "libtfkernel_b.so.1", "note.so.txt"):
        (tmp_path / name).write_bytes(b"")
    refusal = "no C.* code and loads none.*tf.py_func"
    for load in (tf.load_op_library, tf.load_file_system_library, tf.load_library):
        with pytest.raises(tf.errors.UnimplementedError, match=refusal):
            load(tmp_path / "libtfkernel_a.so")
    for name in ("libtfkernel_a.so", "libtfkernel_b.so.1"):
        with pytest.raises(tf.errors.UnimplementedError, match=name):
            tf.load_library(tmp_path)
        (tmp_path / name).unlink()
    assert tf.load_library(tmp_path) is None


def test_tf_sysconfig_promises_no_headers_and_no_library(v1: Any) -> None:
    theirs = {name for name in dir(v1.sysconfig) if not name.startswith("_")}
    added_by_tensorflow_2 = {"CXX_VERSION", "get_build_info"}
    assert set(tf.sysconfig.__all__) == theirs - added_by_tensorflow_2
    assert tf.sysconfig.get_compile_flags() == tf.sysconfig.get_link_flags() == []
    assert tf.sysconfig.get_lib() == str(pathlib.Path(tf.__file__).parent)
    assert not pathlib.Path(tf.sysconfig.get_include()).exists()
    assert (tf.CXX11_ABI_FLAG, tf.MONOLITHIC_BUILD) == (0, 0)


def test_a_process_chooses_to_log_the_placement_of_operations(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def printed(**arguments: Any) -> str:
        with tf.Graph().as_default(), tf.Session(**arguments) as session:
            session.run(tf.add(tf.random.uniform([]), 1.0, name="placed"))
        return capfd.readouterr().out

    assert not tf.debugging.get_log_device_placement()
    assert printed() == ""
    tf.debugging.set_log_device_placement(True)
    try:
        assert tf.debugging.get_log_device_placement()
        assert "placed: (Add): /job:localhost/replica:0/task:0/device:CPU:0" in printed()
        assert printed(config=tf.ConfigProto()) == ""
    finally:
        tf.debugging.set_log_device_placement(False)
    assert printed() == ""
