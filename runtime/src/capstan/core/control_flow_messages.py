"""The messages in which a MetaGraphDef keeps conditionals and loops
(tensorflow/core/protobuf/control_flow.proto).

In control_flow.proto, `external_values` is a map. A repeated ExternalValue has the same encoding.
"""

from capstan.core import messages

_SCHEMA = """
ExternalValue          key:string=1 value:string=2
ValuesDef              values:string*=1 external_values:ExternalValue*=2
CondContextDef         context_name:string=1 pred_name:string=2 pivot_name:string=3 branch:int32=4 \
                       values_def:ValuesDef=5 nested_contexts:ControlFlowContextDef*=6
WhileContextDef        context_name:string=1 parallel_iterations:int32=2 back_prop:bool=3 \
                       swap_memory:bool=4 pivot_name:string=5 pivot_for_pred_name:string=6 \
                       pivot_for_body_name:string=7 loop_exit_names:string*=8 \
                       values_def:ValuesDef=9 loop_enter_names:string*=10 \
                       maximum_iterations_name:string=11 nested_contexts:ControlFlowContextDef*=12
ControlFlowContextDef  cond_ctxt:CondContextDef=1 while_ctxt:WhileContextDef=2
"""

__getattr__ = messages.attributes(__name__, "capstan.control_flow", _SCHEMA)
