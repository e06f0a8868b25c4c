"""`tf.python.client.timeline`: the timeline of a traced step, for trace viewers."""

from capstan.client.timeline import AllocationMaximum as AllocationMaximum
from capstan.client.timeline import StepStatsAnalysis as StepStatsAnalysis
from capstan.client.timeline import Timeline as Timeline
