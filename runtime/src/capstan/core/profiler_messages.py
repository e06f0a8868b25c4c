"""The messages of TensorFlow's profiler (tensorflow/core/profiler/tfprof_*.proto).

TensorFlow has `Trace` inside of `CodeDef`, and `Checker` inside of `AdviceProto`.
"""

from capstan.core import messages

_SCHEMA = """
CodeDef       traces:Trace*=1
Trace         file:string=1 lineno:int32=2 function:string=3 line:string=4 func_start_line:int32=5 \
              file_id:int64=6 function_id:int64=7 line_id:int64=8
OpLogEntry    name:string=1 float_ops:int64=2 types:string*=3 code_def:CodeDef=4
OpLogProto    log_entries:OpLogEntry*=1 id_to_string:{int64,string}=2
ProfileProto  nodes:{int64,ProfileNode}=1 has_trace:bool=2 steps:int64*=3 \
              id_to_string:{int64,string}=4 miss_accelerator_stream:bool=5
ProfileNode   name:string=1 inputs:{int32,int64}=2 outputs:{int32,int64}=3 shape:int64*=4 \
              op_types:string*=5 canonical_device:string=6 host_device:string=7 float_ops:int64=8 \
              op:string=9 trace:CodeDef=10 attrs:{AttrValue}=11 execs:{int64,ExecProfile}=12 \
              id:int64=13 src_output_index:{int64,int32}=14 output_shapes:{int32,Tuple}=15 \
              input_shapes:{int32,Tuple}=16
ExecProfile   run_count:int64=1 all_start_micros:int64=2 latest_end_micros:int64=3 \
              accelerator_execs:{ExecTime}=4 cpu_execs:{ExecTime}=5 devices:string*=6 \
              memory_execs:ExecMemory*=7 allocations:AllocationRecord*=11
ExecTime      times:Tuple*=1
ExecMemory    memory_micros:int64=1 host_temp_bytes:int64=2 host_persistent_bytes:int64=3 \
              accelerator_temp_bytes:int64=4 accelerator_persistent_bytes:int64=5 \
              requested_bytes:int64=6 peak_bytes:int64=7 residual_bytes:int64=8 \
              output_bytes:int64=9 allocator_bytes_in_use:int64=10 output_memory:{int32,Memory}=11
Tuple         int64_values:int64*=1
Memory        bytes:int64=1 ptr:uint64=2
TFProfTensorProto  dtype:DataType=1 value_double:double*=2 value_int64:int64*=3 value_str:string*=4
GraphNodeProto     name:string=1 exec_micros:int64=2 requested_bytes:int64=3 parameters:int64=4 \
                   total_exec_micros:int64=6 total_requested_bytes:int64=7 \
                   total_parameters:int64=8 devices:string*=10 shapes:TensorShapeProto*=11 \
                   children:GraphNodeProto*=12 float_ops:int64=13 total_float_ops:int64=14 \
                   tensor_value:TFProfTensorProto=15 input_shapes:{int32,TensorShapeProto}=16 \
                   accelerator_exec_micros:int64=17 cpu_exec_micros:int64=18 \
                   total_accelerator_exec_micros:int64=19 total_cpu_exec_micros:int64=20 \
                   run_count:int64=21 total_run_count:int64=22 total_definition_count:int64=23 \
                   peak_bytes:int64=24 residual_bytes:int64=25 output_bytes:int64=26 \
                   total_peak_bytes:int64=27 total_residual_bytes:int64=28 \
                   total_output_bytes:int64=29
MultiGraphNodeProto  name:string=1 exec_micros:int64=2 requested_bytes:int64=3 parameters:int64=4 \
                     float_ops:int64=5 total_exec_micros:int64=6 total_requested_bytes:int64=7 \
                     total_parameters:int64=8 total_float_ops:int64=9 \
                     graph_nodes:GraphNodeProto*=10 children:MultiGraphNodeProto*=11 \
                     accelerator_exec_micros:int64=12 cpu_exec_micros:int64=13 \
                     total_accelerator_exec_micros:int64=14 total_cpu_exec_micros:int64=15 \
                     peak_bytes:int64=16 residual_bytes:int64=17 output_bytes:int64=18 \
                     total_peak_bytes:int64=19 total_residual_bytes:int64=20 \
                     total_output_bytes:int64=21
AdviceProto   checkers:{Checker}=1
Checker       reports:string*=2
"""

__getattr__ = messages.attributes(
    __name__, "capstan.tfprof", _SCHEMA, {"AllocationRecord": "step_stats"}
)
