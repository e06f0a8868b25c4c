"""The message in which a MetaGraphDef keeps a queue runner
(tensorflow/core/protobuf/queue_runner.proto)."""

from capstan.core import messages

_SCHEMA = """
QueueRunnerDef  queue_name:string=1 enqueue_op_name:string*=2 close_op_name:string=3 \
                cancel_op_name:string=4 queue_closed_exception_types:int32*=5
"""

__getattr__ = messages.attributes(__name__, "capstan.queue_runner", _SCHEMA)
