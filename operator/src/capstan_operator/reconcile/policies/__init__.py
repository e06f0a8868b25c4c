"""One policy a file: a field of the spec, or a promise about failures, has one home."""
