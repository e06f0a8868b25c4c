"""A network of `tf.contrib.layers` trains as the same operations of TensorFlow do."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(5)
IMAGES = RANDOM.uniform(-0.5, 0.5, (4, 6, 6, 2)).astype(np.float32)
LABELS = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
WEIGHTS = {
    name: RANDOM.uniform(-0.5, 0.5, shape).astype(np.float32)
    for name, shape in (
        ("Conv/weights", (3, 3, 2, 4)), ("Conv/biases", (4,)), ("fc/weights", (36, 5)),
        ("fc/biases", (5,)), ("fully_connected/weights", (5, 3)), ("fully_connected/biases", (3,)),
    )
}  # fmt: skip


def layered(tf: Any) -> Any:
    layers = tf.contrib.layers
    decay = layers.l2_regularizer(0.1)
    hidden = layers.conv2d(tf.constant(IMAGES), 4, 3, weights_regularizer=decay)
    hidden = layers.flatten(layers.max_pool2d(hidden, [2, 2]))
    hidden = layers.fully_connected(hidden, 5, tf.nn.tanh, scope="fc")
    hidden = layers.dropout(hidden, 0.5, is_training=False)
    return layers.fully_connected(hidden, 3, activation_fn=None)


def composed(v1: Any) -> Any:
    v = {name: v1.Variable(value, name=name) for name, value in WEIGHTS.items()}
    loss = 0.1 * v1.nn.l2_loss(v["Conv/weights"])
    v1.add_to_collection(v1.GraphKeys.REGULARIZATION_LOSSES, loss)
    hidden = v1.nn.conv2d(IMAGES, v["Conv/weights"], 1, "SAME") + v["Conv/biases"]
    hidden = v1.reshape(v1.nn.max_pool(v1.nn.relu(hidden), 2, 2, "VALID"), [4, -1])
    hidden = v1.tanh(v1.matmul(hidden, v["fc/weights"]) + v["fc/biases"])
    return v1.matmul(hidden, v["fully_connected/weights"]) + v["fully_connected/biases"]


def trained(tf: Any, model: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.losses.softmax_cross_entropy(LABELS, model(tf))
        loss = tf.losses.get_total_loss()
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            variable.load(WEIGHTS[variable.op.name], session)
        losses = [session.run([loss, train])[0] for _ in range(3)]
        return losses, {variable.op.name: variable.eval() for variable in tf.global_variables()}


def test_a_network_of_contrib_trains_as_in_tensorflow(v1: Any) -> None:
    (found, variables), (expected, wanted) = trained(capstan, layered), trained(v1, composed)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert variables.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(variables[name], value, rtol=1e-3, atol=1e-5, err_msg=name)


def test_hyperparameters_are_parsed_in_their_types() -> None:
    params = capstan.contrib.training.HParams(rate=0.1, layers=[1, 2], name="x", bias=True)
    params.parse("rate=2,layers=[3,4,5],bias=false").set_hparam("name", "y")
    assert params.values() == {"rate": 2.0, "layers": [3, 4, 5], "name": "y", "bias": False}
    assert isinstance(params.rate, float)
    assert "rate" in params
    assert str(params) == "rate=2.0,layers=[3, 4, 5],name=y,bias=False"
    assert repr(params).startswith("HParams([('bias', False), ('layers'")
    for wrong in (
        *("unknown=1", "layers=x", "rate=[1,2]", "layers=4", "rate=1,rate=2", "rate="),
        *("layers[0]=[1]", "rate 3", "bias=maybe"),
    ):
        with pytest.raises(ValueError, match=r"hparam|yperparameter|parameter|assign|Assign"):
            params.parse(wrong)


def test_values_of_hyperparameters_keep_their_types() -> None:
    params = capstan.contrib.training.HParams(rate=0.1, count=2, name="x", layers=[1], none=None)
    params.override_from_dict({"rate": 3, "layers": [2, 3], "none": "any"})
    assert (params.rate, params.layers, params.none) == (3.0, [2, 3], "any")
    for name, wrong in (
        *(("count", 1.5), ("count", True), ("name", 1), ("rate", "2"), ("rate", False)),
        *(("layers", 2), ("layers", ["a"]), ("rate", [1.0])),
    ):
        with pytest.raises(ValueError, match=r"Could not cast|Must (not )?pass a list"):
            params.set_hparam(name, wrong)
    assert (params.get("rate"), params.get("rate", 1), params.get("none", 1)) == (3.0, 3.0, "any")
    assert params.get("other", "default") == "default"
    for name, default in (("rate", "a"), ("layers", 1), ("rate", [1.0])):
        with pytest.raises(ValueError, match=r"is incompatible with default="):
            params.get(name, default)
    params.add_hparam("a.b", 1)
    assert params.parse("a.b=3").get("a.b") == 3
    params.set_model_structure("any")
    assert params.get_model_structure() == "any"


def test_hyperparameters_become_a_message_and_return() -> None:
    values = {
        "rate": 0.5, "count": 3, "name": "é", "bias": True, "raw": "x",
        "rates": [0.25, 2.0], "layers": [1, -2], "names": ["a", "b"], "flags": [True, False],
    }  # fmt: skip
    params = capstan.contrib.training.HParams(**{**values, "raw": b"x"})
    message = params.to_proto("scope")
    assert message.hparam["names"].bytes_list.value == [b"a", b"b"]
    # A string field 1 in an entry with field 3, as hparam.proto numbers them.
    assert capstan.contrib.training.HParams(name="x").to_proto().SerializeToString() == (
        b"\n\x0b\n\x04name\x12\x03\x1a\x01x"
    )
    parsed = type(message).FromString(message.SerializeToString())
    for found in (
        capstan.contrib.training.HParams.from_proto(parsed),
        capstan.contrib.training.HParams(parsed),
    ):
        assert found.values() == values
        assert isinstance(found.count, int)
    with pytest.raises(ValueError, match="mutually exclusive"):
        capstan.contrib.training.HParams(message, rate=1.0)
    with pytest.raises(TypeError, match="must be an HParamDef, not str"):
        capstan.contrib.training.HParams("rate=1")
    with pytest.raises(ValueError, match="Unsupported parameter type"):
        capstan.contrib.training.HParams(none=None).to_proto()


def test_parsed_values_may_be_elements_of_lists() -> None:
    from capstan.contrib.training.python.training.hparam import parse_values

    kinds = {"arr": int, "s": str, "b": bool}
    found = parse_values("arr[1]=10, arr[0] = 4,s=relu,b=1,other=3", kinds, ignore_unknown=True)
    assert found == {"arr": {1: 10, 0: 4}, "s": "relu", "b": True}
    for wrong in ("arr[1]=1,arr[1]=2", "arr=1,arr[1]=2", "arr[1]=2,arr=[1]"):
        with pytest.raises(ValueError, match="Multiple assignments to variable 'arr"):
            parse_values(wrong, kinds)
