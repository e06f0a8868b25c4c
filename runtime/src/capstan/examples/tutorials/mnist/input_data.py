"""The handwritten digits of MNIST, as `tensorflow.examples.tutorials.mnist.input_data` has them.

mnist = input_data.read_data_sets("MNIST_data", one_hot=True)
images, labels = mnist.train.next_batch(100)
"""

from capstan.api.mnist_data import DataSet as DataSet
from capstan.api.mnist_data import Datasets as Datasets
from capstan.api.mnist_data import load_mnist as load_mnist
from capstan.api.mnist_data import read_data_sets as read_data_sets
