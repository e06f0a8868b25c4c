"""The calls for collective operations, with the messages of TensorFlow's worker.proto."""

from collections.abc import Callable, Mapping
from typing import Any

import grpc

from capstan import errors
from capstan.core import collective, dtypes
from capstan.transport import cancellation as cancellations
from capstan.transport import collective_api
from capstan.transport.grpc import calls, wire

Answer = Callable[[Any, grpc.ServicerContext], Any]


class RemoteLeader(collective_api.CollectiveApi):
    """The leader at the other end of a channel. Waits for a leader that cannot be reached yet."""

    def __init__(self, service: calls.Service) -> None:
        self._service = service

    def complete_group(
        self,
        group: collective.Group,
        device: str,
        kind: collective.Kind,
        cancellation: cancellations.Cancellation,
    ) -> collective.Members:
        request = wire.CompleteGroupRequest(
            group_key=group.key,
            group_size=group.size,
            device_type=group.device_type,
            device_name=[device],
            collective_type=int(kind),
        )
        response = self._call("CompleteGroup", request, cancellation)
        return collective.Members(tuple(response.device_name), tuple(response.task_name))

    def complete_instance(
        self,
        instance: collective.Instance,
        step: int,
        device: str,
        cancellation: cancellations.Cancellation,
    ) -> int:
        request = wire.CompleteInstanceRequest(
            name=instance.name,
            type=int(instance.kind),
            data_type=instance.dtype.as_datatype_enum,
            group_key=instance.group.key,
            group_size=instance.group.size,
            instance_key=instance.key,
            device_type=instance.group.device_type,
            device=device,
            is_source=instance.is_source,
            step_id=step,
        )
        for size in instance.shape:
            request.shape.dim.add(size=size)
        return int(self._call("CompleteInstance", request, cancellation).source_rank)

    def get_step_sequence(
        self,
        graph_key: int,
        caller: collective.Caller | None,
        cancellation: cancellations.Cancellation,
    ) -> int:
        request = wire.GetStepSequenceRequest(
            graph_key=[graph_key],
            task=caller.task if caller else "",
            incarnation=caller.incarnation if caller else 0,
        )
        response = self._call("GetStepSequence", request, cancellation)
        return int(response.step_sequence[0].next_step_id)

    def _call(self, name: str, request: Any, cancellation: cancellations.Cancellation) -> Any:
        try:
            return self._service.call(name, request, wait=True, cancellation=cancellation)
        except errors.UnavailableError as fault:
            raise errors.UnavailableError(
                None, None, f"The leader of the collective ops is gone: {fault.message}"
            ) from None


def answers(leader: collective_api.CollectiveApi) -> Mapping[str, Answer]:
    """Return the methods of the leader by name."""

    def complete_group(request: Any, context: grpc.ServicerContext) -> Any:
        if len(request.device_name) != 1:
            raise errors.InvalidArgumentError(
                None, None, f"CompleteGroup needs one device, not {len(request.device_name)}"
            )
        group = collective.Group(request.group_key, request.group_size, request.device_type)
        kind = collective.Kind(request.collective_type)
        found = leader.complete_group(group, request.device_name[0], kind, _gone(context))
        return wire.CompleteGroupResponse(
            group_key=group.key,
            group_size=group.size,
            device_type=group.device_type,
            num_tasks=len(set(found.tasks)),
            device_name=found.devices,
            task_name=found.tasks,
        )

    def complete_instance(request: Any, context: grpc.ServicerContext) -> Any:
        instance = collective.Instance(
            request.name,
            collective.Kind(request.type),
            request.instance_key,
            collective.Group(request.group_key, request.group_size, request.device_type),
            dtypes.as_dtype(request.data_type),
            tuple(dim.size for dim in request.shape.dim),
            request.is_source,
        )
        rank = leader.complete_instance(instance, request.step_id, request.device, _gone(context))
        return wire.CompleteInstanceResponse(instance_key=instance.key, source_rank=rank)

    def get_step_sequence(request: Any, context: grpc.ServicerContext) -> Any:
        response = wire.GetStepSequenceResponse()
        caller = None
        if request.task:
            caller = collective.Caller(request.task, request.incarnation)
        for graph_key in request.graph_key:
            response.step_sequence.add(
                graph_key=graph_key,
                next_step_id=leader.get_step_sequence(graph_key, caller, _gone(context)),
            )
        return response

    return {
        "CompleteGroup": complete_group,
        "CompleteInstance": complete_instance,
        "GetStepSequence": get_step_sequence,
    }


def _gone(context: grpc.ServicerContext) -> cancellations.Cancellation:
    """Return a cancellation that is set when the caller is gone."""
    is_gone = cancellations.Cancellation()
    if not context.add_callback(is_gone.cancel):
        is_gone.cancel()
    return is_gone
