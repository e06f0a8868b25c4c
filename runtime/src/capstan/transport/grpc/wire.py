"""The protocol buffers of the services, as attributes: `wire.RunStepRequest(...)`.

Messages that tensorboard defines are imported from tensorboard. The table below follows
tensorflow/core/protobuf/{master,named_tensor,worker}.proto and framework/device_attributes.proto.
Its last two rows follow grpc/health/v1/health.proto, whose enum is an integer on the wire.
The classes are built on first use.
"""

from capstan.core import messages

_SCHEMA = """
NamedTensorProto       name:string=1 tensor:TensorProto=2
DeviceAttributes       name:string=1 device_type:string=2 memory_limit:int64=4 \
                       incarnation:fixed64=6 physical_device_desc:string=7
CreateSessionRequest   graph_def:GraphDef=1 config:ConfigProto=2 target:string=3
CreateSessionResponse  session_handle:string=1 graph_version:int64=2
ExtendSessionRequest   session_handle:string=1 graph_def:GraphDef=2 current_graph_version:int64=3
ExtendSessionResponse  new_graph_version:int64=4
RunStepRequest         session_handle:string=1 feed:NamedTensorProto*=2 fetch:string*=3 \
                       target:string*=4 options:RunOptions=5 partial_run_handle:string=6 \
                       store_errors_in_response_body:bool=7 request_id:int64=8
RunStepResponse        tensor:NamedTensorProto*=1 metadata:RunMetadata=2 status_code:int32=3 \
                       status_error_message:string=4
PartialRunSetupRequest session_handle:string=1 feed:string*=2 fetch:string*=3 target:string*=4 \
                       request_id:int64=5
PartialRunSetupResponse partial_run_handle:string=1
MakeCallableRequest    session_handle:string=1 options:CallableOptions=2 request_id:int64=3
MakeCallableResponse   handle:int64=1
RunCallableRequest     session_handle:string=1 handle:int64=2 feed:TensorProto*=3 request_id:int64=4
RunCallableResponse    fetch:TensorProto*=1 metadata:RunMetadata=2
ReleaseCallableRequest session_handle:string=1 handle:int64=2
ReleaseCallableResponse
CloseSessionRequest    session_handle:string=1
CloseSessionResponse
ResetRequest           container:string*=1 device_filters:string*=2
ResetResponse
ListDevicesRequest     session_handle:string=1
ListDevicesResponse    local_device:DeviceAttributes*=1 remote_device:DeviceAttributes*=2

GetStatusRequest       task:string=1
GetStatusResponse      device:DeviceAttributes*=1 incarnation:fixed64=2 protocol_version:int32=3 \
                       kernels:bytes=4 caller_address:string=5
KernelConstraint       name:string=1 allowed_values:AttrValue=2
KernelDef              op:string=1 device_type:string=2 constraint:KernelConstraint*=3
KernelList             kernel:KernelDef*=1
LegMessage             number:uint32=1 source:string=2 destination:string=3 leg:uint32=4 \
                       edge:string*=5 conditional:string*=6 wait_set:uint32=7 control:string*=8
TensorFacts            edge:string=1 dtype:DataType=2 shape:TensorShapeProto=3
RegisterGraphRequest   session:string=1 task:string=2 graph_def:GraphDef=3 leg:uint32*=4 \
                       incoming:LegMessage*=5 outgoing:LegMessage*=6 feed:string*=7 \
                       fetch:string*=8 tensor:TensorFacts*=9 master:string=10 \
                       master_incarnation:fixed64=11 wait_set:uint32*=12 answer:uint32*=13 \
                       registration:uint32=14 is_isolated:bool=15
RegisterGraphResponse  graph:uint32=1
DeregisterGraphRequest session:string=1 registration:uint32*=2
DeregisterGraphResponse
CleanupAllRequest      container:string*=1
CleanupAllResponse
ConnectRequest         task:string=1 incarnation:fixed64=2 protocol:string*=3
ConnectResponse        plane:string=1 address:string=2 token:bytes=3

CompleteGroupRequest   group_key:int32=1 group_size:int32=2 device_type:string=3 \
                       device_name:string*=4 collective_type:int32=5
CompleteGroupResponse  group_key:int32=1 group_size:int32=2 device_type:string=3 \
                       num_tasks:int32=4 device_name:string*=5 task_name:string*=6 \
                       communicator_key:bytes=7
CompleteInstanceRequest name:string=1 type:int32=2 data_type:DataType=3 \
                       shape:TensorShapeProto=4 group_key:int32=5 group_size:int32=6 \
                       instance_key:int32=7 device_type:string=8 subdiv_offset:int32*=9 \
                       device:string=10 is_source:bool=11 step_id:int64=14
CompleteInstanceResponse instance_key:int32=1 source_rank:int32=2
GetStepSequenceRequest graph_key:int64*=1 task:string=2 incarnation:fixed64=3
StepSequence           graph_key:int64=1 next_step_id:int64=2
GetStepSequenceResponse step_sequence:StepSequence*=1

CheckRequest           service:string=1
CheckResponse          status:int32=1
"""

__getattr__ = messages.attributes(__name__, "capstan.wire", _SCHEMA)
