"""`tf.python.tools`: the tools for graphs, checkpoints and SavedModels, as modules and commands.

`python -m capstan.python.tools.freeze_graph --help` shows the flags of a command. They are those
of TensorFlow's command of this name. The modules whose names end with `_lib` or `_utils` have no
command, and are aliases.
"""

from capstan.core import alias

alias.grow(
    __name__,
    {
        "optimize_for_inference_lib": ("capstan.api.inference_graphs",),
        "saved_model_utils": ("capstan.train.saved_model.tags",),
        "strip_unused_lib": ("capstan.api.graph_stripping",),
    },
)
