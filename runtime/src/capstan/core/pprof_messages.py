"""The messages of the files that `pprof` reads (tensorflow/core/profiler/profile.proto)."""

from capstan.core import messages

_SCHEMA = """
Profile    sample_type:ValueType*=1 sample:Sample*=2 location:Location*=4 function:Function*=5 \
           string_table:string*=6 comment:int64*=13
ValueType  type:int64=1 unit:int64=2
Sample     location_id:uint64*=1 value:int64*=2 label:Label*=3
Label      key:int64=1 str:int64=2 num:int64=3
Location   id:uint64=1 line:Line*=4
Line       function_id:uint64=1 line:int64=2
Function   id:uint64=1 name:int64=2 filename:int64=4 start_line:int64=5
"""

__getattr__ = messages.attributes(__name__, "capstan.pprof", _SCHEMA)
