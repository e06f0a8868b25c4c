"""The protocol buffer of a server, as an attribute: `server_messages.ServerDef(...)`.

Source: tensorflow/core/protobuf/tensorflow_server.proto. The class is built on first use.
"""

from capstan.core import messages

_SCHEMA = """
ServerDef  cluster:ClusterDef=1 job_name:string=2 task_index:int32=3 \
           default_session_config:ConfigProto=4 protocol:string=5
"""

__getattr__ = messages.attributes(__name__, "capstan.server", _SCHEMA, {"ClusterDef": "cluster"})
