"""The message of hyperparameters (contrib/training/python/training/hparam.proto)."""

from capstan.core import messages

_SCHEMA = """
BytesList   value:bytes*=1
FloatList   value:float*=1
Int64List   value:int64*=1
BoolList    value:bool*=1
HParamType  kind/int64_value:int64=1 kind/float_value:float=2 kind/bytes_value:bytes=3 \
            kind/bool_value:bool=7 kind/int64_list:Int64List=4 kind/float_list:FloatList=5 \
            kind/bytes_list:BytesList=6 kind/bool_list:BoolList=8
HParamDef   hparam:{HParamType}=1
"""

__getattr__ = messages.attributes(__name__, "capstan.hparam", _SCHEMA)
