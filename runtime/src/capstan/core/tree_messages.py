"""The protocol buffers of boosted trees, as attributes: `tree_messages.TreeEnsemble(...)`.

Source: tensorflow/core/kernels/boosted_trees/boosted_trees.proto. The classes are built on first
use.
"""

from capstan.core import messages

_SCHEMA = """
Vector              value:float*=1
SparseVector        index:int32*=1 value:float*=2
Leaf                leaf/vector:Vector=1 leaf/sparse_vector:SparseVector=2 scalar:float=3
BucketizedSplit     feature_id:int32=1 threshold:int32=2 left_id:int32=3 right_id:int32=4 \
                    dimension_id:int32=5 default_direction:int32=6
CategoricalSplit    feature_id:int32=1 value:int32=2 left_id:int32=3 right_id:int32=4 \
                    dimension_id:int32=5
DenseSplit          feature_id:int32=1 threshold:float=2 left_id:int32=3 right_id:int32=4
NodeMetadata        gain:float=1 original_leaf:Leaf=2
Node                node/leaf:Leaf=1 node/bucketized_split:BucketizedSplit=2 \
                    node/categorical_split:CategoricalSplit=3 node/dense_split:DenseSplit=4 \
                    metadata:NodeMetadata=777
Tree                nodes:Node*=1
PostPruneNodeUpdate new_node_id:int32=1 logit_change:float*=2
TreeMetadata        num_layers_grown:int32=2 is_finalized:bool=3 \
                    post_pruned_nodes_meta:PostPruneNodeUpdate*=4
GrowingMetadata     num_trees_attempted:int64=1 num_layers_attempted:int64=2 \
                    last_layer_node_start:int32=3 last_layer_node_end:int32=4
TreeEnsemble        trees:Tree*=1 tree_weights:float*=2 tree_metadata:TreeMetadata*=3 \
                    growing_metadata:GrowingMetadata=4
DebugOutput         feature_ids:int32*=1 logits_path:float*=2
"""

__getattr__ = messages.attributes(__name__, "capstan.boosted_trees", _SCHEMA)
