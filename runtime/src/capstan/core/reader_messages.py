"""The protocol buffer that holds the state of a reader (core/framework/reader_base.proto)."""

from capstan.core import messages

_SCHEMA = """
ReaderBaseState work_started:int64=1 work_finished:int64=2 num_records_produced:int64=3 \
                current_work:bytes=4
"""

__getattr__ = messages.attributes(__name__, "capstan.reader", _SCHEMA)
