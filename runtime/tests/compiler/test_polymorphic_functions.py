"""Functions whose types are attributes of the call, which clients in C++ send."""

import functools
from typing import Any

import pytest
from google.protobuf import text_format
from tensorboard.compat.proto import graph_pb2

import capstan
from capstan import errors
from capstan.core import function, graph_def
from capstan.framework import function_def, function_gradient, gradients
from capstan.graph import calls

LIBRARY = """
library {
  function {
    signature {
      name: "Twice" attr { name: "T" type: "type" }
      input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
    }
    node_def {
      name: "sum" op: "AddV2" input: "x" input: "x" attr { key: "T" value { placeholder: "T" } }
    }
    ret { key: "y" value: "sum:z:0" }
  }
  function {
    signature {
      name: "FourTimes" attr { name: "T" type: "type" default_value { type: DT_INT32 } }
      input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
    }
    node_def {
      name: "once" op: "Twice" input: "x" attr { key: "T" value { placeholder: "T" } }
    }
    node_def {
      name: "again" op: "PartitionedCall" input: "once:y:0"
      attr { key: "Tin" value { list { type: DT_FLOAT } } }
      attr { key: "Tout" value { list { type: DT_FLOAT } } }
      attr {
        key: "f"
        value { func { name: "Twice" attr { key: "T" value { placeholder: "T" } } } }
      }
    }
    ret { key: "y" value: "again:output:0" }
  }
}
"""
CALLS = """
node {
  name: "f" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1.5 } } }
}
node {
  name: "i" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 7 } } }
}
node { name: "a" op: "Twice" input: "f" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "b" op: "Twice" input: "i" attr { key: "T" value { type: DT_INT32 } } }
node { name: "c" op: "FourTimes" input: "f" attr { key: "T" value { type: DT_FLOAT } } }
"""


def symbolic(source: function.Function, library: function.Library) -> list[function.Function]:
    return function_gradient.symbolic(source, library, gradients.gradients)


explicit = functools.partial(calls.explicit, symbolic=symbolic)


def sent(text: str) -> Any:
    return text_format.Parse(text, graph_pb2.GraphDef())


def test_each_call_binds_the_types_of_a_function() -> None:
    message = sent(LIBRARY + CALLS)
    library = calls.merged({}, function_def.decode(message.library).values(), symbolic)
    nodes, library = explicit(list(map(graph_def.decode_node, message.node)), library)
    fixed = graph_pb2.GraphDef(node=map(graph_def.encode_node, nodes))
    instances = {name: each for name, each in library.items() if not each.template}
    fixed.library.CopyFrom(function_def.encode(instances))
    with capstan.Graph().as_default():
        fetches = capstan.import_graph_def(fixed, return_elements=["a:0", "b:0", "c:0"])
        with capstan.Session() as session:
            values = session.run(fetches)
    assert [(value.dtype, value) for value in values] == [
        ("float32", 3.0),
        ("int32", 14),
        ("float32", 6.0),
    ]


def test_a_call_without_a_type_is_refused() -> None:
    message = sent(LIBRARY + 'node { name: "a" op: "Twice" input: "f" }')
    library = function_def.decode(message.library)
    with pytest.raises(errors.InvalidArgumentError, match="Attr T is not found"):
        explicit(list(map(graph_def.decode_node, message.node)), library)


def test_the_import_of_such_a_function_is_refused() -> None:
    with capstan.Graph().as_default(), pytest.raises(ValueError, match="with fixed types"):
        capstan.import_graph_def(sent(LIBRARY + CALLS))
