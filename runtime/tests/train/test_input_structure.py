"""The lists and dictionaries of tensors that functions for batches take."""

from capstan.python.training import input as private_input


def test_the_tensors_of_a_dictionary_are_ordered_by_their_keys_and_get_their_keys_back() -> None:
    tensors = {"a": 1, "b": 2, "c": 3, "aa": 11, "bb": 22, "cc": 33}
    listed = private_input._as_tensor_list(tensors)
    assert listed == [1, 11, 2, 22, 3, 33]
    assert private_input._as_original_type(tensors, listed) == tensors
    assert private_input._as_tensor_list([3, 1]) == [3, 1]
    assert private_input._as_original_type([3, 1], [3, 1]) == [3, 1]
    assert private_input._as_original_type([3], [3]) == 3
