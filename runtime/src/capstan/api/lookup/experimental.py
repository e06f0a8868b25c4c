"""`tf.lookup.experimental`: tables that change."""

from capstan.api.lookup.mutable import DenseHashTable as DenseHashTable
from capstan.api.lookup.mutable import MutableHashTable as MutableHashTable
