"""The tutorial on the handwritten digits of MNIST."""
