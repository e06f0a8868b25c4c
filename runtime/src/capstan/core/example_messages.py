"""The protocol buffers of examples (core/example/{example,feature}.proto)."""

from capstan.core import messages

_SCHEMA = """
BytesList        value:bytes*=1
FloatList        value:float*=1
Int64List        value:int64*=1
Feature          kind/bytes_list:BytesList=1 kind/float_list:FloatList=2 kind/int64_list:Int64List=3
Features         feature:{Feature}=1
Example          features:Features=1
FeatureList      feature:Feature*=1
FeatureLists     feature_list:{FeatureList}=1
SequenceExample  context:Features=1 feature_lists:FeatureLists=2
"""

__getattr__ = messages.attributes(__name__, "capstan.example", _SCHEMA)
