"""Loops over the bytes of serialized Examples, in the part of Python that is compiled.

A field of a message begins with a byte, the tag, and the length of what follows. As in
`example_wire`, the loops know Examples as TensorFlow's writers write them, and refuse all others.

Source: developers.google.com/protocol-buffers/docs/encoding, core/example/{example,feature}.proto.
"""

from typing import Any

_FIRST, _SECOND = 0x0A, 0x12
"""The tags of the first two fields of a message, if lengths follow them."""
_STRINGS, _FLOATS = 0x0A, 0x12
"""The tags of lists in a Feature. All others are lists of integers."""


def field(text: Any, at: int, end: int, tag: int) -> Any:
    """Return where the field at `at` starts and stops. It has this tag, and stops by `end`.

    Otherwise it stops at -1.
    """
    if at + 2 > end or text[at] != tag:
        return 0, -1
    at += 1
    length = 0
    shift = 0
    while text[at] > 127:
        length = length | ((text[at] & 127) << shift)
        shift += 7
        at += 1
        if at >= end or shift > 28:
            return 0, -1
    length = length | (text[at] << shift)
    at += 1
    if length > end - at:
        return 0, -1
    return at, at + length


def find_key(text: Any, start: int, stop: int, keys: Any, key_ends: Any, likely: int) -> int:
    """Return the number of the key that is equal to the text between two places, or -1.

    The search begins at key number `likely`.
    """
    for step in range(len(key_ends)):
        number = likely + step
        if number >= len(key_ends):
            number -= len(key_ends)
        first = 0
        if number > 0:
            first = key_ends[number - 1]
        if key_ends[number] - first == stop - start:
            at = start
            while at < stop and text[at] == keys[first + at - start]:
                at += 1
            if at == stop:
                return number
    return -1


def find_features(text: Any, ends: Any, keys: Any, key_ends: Any, kinds: Any, lists: Any) -> int:
    """Find the features with these keys of all examples, which end at `ends`.

    `lists` has three parts. Of feature `k` of example `e`, element `k * examples + e` of the first
    two parts says where the contents of its list begin and end, and of the third part how many
    values the list has. The third part has -1 before, and a number below 0 afterwards where an
    example has no such list. `kinds` are the tags of the lists. Return -1 if an example is unusual.
    """
    examples = len(ends)
    end = 0
    for example in range(examples):
        at = end
        end = ends[example]
        if at == end:
            continue
        at, stop = field(text, at, end, _FIRST)
        if stop != end:
            return -1
        likely = 0
        while at < end:
            at, stop = field(text, at, end, _FIRST)
            if stop < 0:
                return -1
            number, value = find_entry(text, at, stop, keys, key_ends, likely)
            if value < 0:
                return -1
            if number >= 0:
                likely = number + 1
                place = number * examples + example
                if note_list(text, value, stop, kinds[number], lists, place) < 0:
                    return -1
            at = stop
    return 0


def find_entry(text: Any, at: int, stop: int, keys: Any, key_ends: Any, likely: int) -> Any:
    """Return the number of the key of an entry, or -1, and where the value starts, or -1."""
    key, key_stop = field(text, at, stop, _FIRST)
    if key_stop < 0:
        return -1, -1
    value, value_stop = field(text, key_stop, stop, _SECOND)
    if value_stop != stop:
        return -1, -1
    return find_key(text, key, key_stop, keys, key_ends, likely), value


def note_list(text: Any, at: int, stop: int, kind: int, lists: Any, place: int) -> int:
    """Note the list of a feature in `lists`. Return -1 if it is unusual, or not the first one."""
    places = len(lists) // 3
    if lists[2 * places + place] != -1:
        return -1
    lists[2 * places + place] = -2
    if at == stop:
        return 0
    at, end = field(text, at, stop, kind)
    if end != stop:
        return -1
    count = 0
    if kind == _STRINGS:
        count = count_strings(text, at, stop)
    elif at < stop:
        # All numbers are in one field.
        at, end = field(text, at, stop, _FIRST)
        if end != stop:
            return -1
        count = count_numbers(text, at, stop, kind)
    lists[place] = at
    lists[places + place] = stop
    lists[2 * places + place] = count
    return count


def count_strings(text: Any, at: int, stop: int) -> int:
    """Return how many strings a list has, or -1 if it has something else."""
    count = 0
    while at < stop:
        at, following = field(text, at, stop, _FIRST)
        if following < 0:
            return -1
        at = following
        count += 1
    return count


def count_numbers(text: Any, at: int, stop: int, kind: int) -> int:
    """Return how many numbers there are, or -1 if they are not whole, or none."""
    if kind == _FLOATS:
        if (stop - at) & 3:
            return -1
        return (stop - at) >> 2
    count = 0
    width = 0
    while at < stop:
        width += 1
        if text[at] < 128:
            count += 1
            width = 0
        elif width == 10:
            return -1
        at += 1
    if width > 0 or count == 0:
        return -1
    return count


def take_strings(text: Any, starts: Any, stops: Any, begins: Any, sizes: Any) -> int:
    """Find the strings of lists: where each begins, and its size."""
    total = 0
    for place in range(len(starts)):
        at = starts[place]
        while at < stops[place]:
            at, following = field(text, at, stops[place], _FIRST)
            begins[total] = at
            sizes[total] = following - at
            at = following
            total += 1
    return total


def take_floats(text: Any, starts: Any, stops: Any, values: Any) -> int:
    """Copy the numbers of lists, as words of 32 bits."""
    total = 0
    for place in range(len(starts)):
        for at in range(starts[place], stops[place], 4):
            values[total] = (
                text[at] | (text[at + 1] << 8) | (text[at + 2] << 16) | (text[at + 3] << 24)
            )
            total += 1
    return total


def take_ints(text: Any, starts: Any, stops: Any, values: Any) -> int:
    """Decode the numbers of lists."""
    total = 0
    for place in range(len(starts)):
        number = 0
        shift = 0
        for at in range(starts[place], stops[place]):
            number = number | ((text[at] & 127) << shift)
            shift += 7
            if text[at] < 128:
                values[total] = number
                total += 1
                number = 0
                shift = 0
    return total
