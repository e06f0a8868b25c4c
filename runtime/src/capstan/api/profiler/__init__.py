"""`tf.profiler`: what the nodes of a graph hold, compute and cost (python/profiler).

parameters = tf.profiler.profile(graph)
flops = tf.profiler.profile(
    graph, options=tf.profiler.ProfileOptionBuilder.float_operation())
flops.total_float_ops
"""

from typing import Any

from capstan.api.absent import absent
from capstan.api.profiler.model_analyzer import Profiler as Profiler
from capstan.api.profiler.model_analyzer import advise as advise
from capstan.api.profiler.model_analyzer import profile as profile
from capstan.api.profiler.op_log import write_op_log as write_op_log
from capstan.api.profiler.option_builder import ProfileOptionBuilder as ProfileOptionBuilder
from capstan.core import profiler_messages

AdviceProto = profiler_messages.AdviceProto
GraphNodeProto = profiler_messages.GraphNodeProto
MultiGraphNodeProto = profiler_messages.MultiGraphNodeProto
OpLogProto = profiler_messages.OpLogProto


def __getattr__(name: str) -> Any:
    raise absent("tf.profiler", name)
