"""`capstan.core.profiler`: the messages that TensorFlow defines in `core/profiler`."""

from capstan.core import alias

alias.grow(
    __name__,
    {
        "profile_pb2": ("capstan.core.pprof_messages",),
        **{f"tfprof_{name}_pb2": ("capstan.core.profiler_messages",) for name in ("log", "output")},
    },
)
