"""Row of the op that gives the elements of one dataset to several iterators in turn.

TensorFlow does this with a MultiDeviceIterator and a dataset of a generator for each device
(core/kernels/data/multi_device_iterator_ops.cc).
"""

from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import datasets, rules


def _scalars(ctx: ShapeContext) -> rules.Shapes:
    return ((),) * int(ctx.attrs["num_devices"])


define(
    OpDef(
        "_DealDataset",
        (datasets.SOURCE,),
        ("handles: num_devices * variant",),
        attrs={"num_devices": int, "buffer_size": int, **datasets.TYPED},
        shape=_scalars,
        not_differentiable=True,
        # Each run of the op begins at the first element.
        effect=facts.EXTERNAL,
    )
)
