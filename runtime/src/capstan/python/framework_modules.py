"""The modules of `tensorflow.python.framework`: where Capstan has their names."""

from capstan.core import alias
from capstan.python import lookups

_TF = "capstan"
_TRAIN = ("capstan.train", _TF)

FRAMEWORK: dict[str, alias.Homes] = {
    "composite_tensor": ("capstan.api.composite_tensor",),
    "constant_op": (
        {
            "constant_v1": "capstan.constant",
            "is_constant": "capstan.api.known_values.is_constant",
        },
        _TF,
    ),
    "config": (
        *("capstan.api.config.experimental", "capstan.api.config", "capstan.api.config.threading"),
    ),
    "device": ({"canonical_name": "capstan.core.devices.canonical"}, "capstan.core.devices", _TF),
    "device_spec": (dict.fromkeys(("DeviceSpecV1", "DeviceSpecV2"), "capstan.DeviceSpec"),),
    "dtypes": (lookups.ref_dtype, "capstan.core.dtypes", _TF),
    "errors": ("capstan.errors",),
    "errors_impl": ("capstan.errors",),
    "func_graph": ("capstan.framework.func_graph",),
    "function": ("capstan.api.function", "capstan.api.function_body"),
    "graph_io": _TRAIN,
    "graph_util": ("capstan.api.graph_util",),
    "graph_util_impl": ("capstan.api.graph_util",),
    "importer": (_TF,),
    "indexed_slices": ("capstan.framework.indexed_slices", _TF),
    "meta_graph": ("capstan.train.meta_graph", "capstan.train.import_graph", *_TRAIN),
    "ops": (
        {
            name: f"capstan.contrib.framework.graphs.{name}"
            for name in ("prepend_name_scope", "strip_name_scope")
        },
        _TF,
        "capstan.contrib.framework.graphs",
        "capstan.framework.convert",
        "capstan.framework.indexed_slices",
        "capstan.framework.collection_protos",
        "capstan.framework.graph",
        "capstan.framework.registered_gradients",
        "capstan.framework.statistics",
    ),
    "random_seed": ("capstan.framework.random_seed", _TF),
    "sparse_tensor": (_TF, "capstan.framework.sparse_tensor"),
    "tensor_conversion_registry": ("capstan.framework.conversions",),
    "tensor_shape": ("capstan.core.tensor_shape", _TF),
    "tensor_spec": ("capstan.api.type_spec",),
    "type_spec": ("capstan.api.type_spec",),
    "tensor_util": (
        {"MakeNdarray": "capstan.api.tensor_messages.make_ndarray"},
        "capstan.api.known_values",
        "capstan.framework.convert",
        _TF,
    ),
    "load_library": ("capstan.api.load_library",),
    "smart_cond": ("capstan.api.smart_cond",),
    "test_util": (
        {"TensorFlowTestCase": "capstan.api.testing_case.TestCase"},
        "capstan.api.test",
        "capstan.api.testing_graphs",
        "capstan.api.testing_modes",
    ),
    "versions": (_TF,),
}
"""The homes of each module, by its path below `tensorflow.python.framework`."""
