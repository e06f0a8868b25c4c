"""The row of a chain of elementwise nodes.

A task makes such nodes when it compiles a part (`executor.chains`). No client sends them.
"""

from capstan.framework.opdef import OpDef, define

define(OpDef("_Elementwise", ("inputs: N * T",), ("output: T",)))
