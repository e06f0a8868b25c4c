"""What fills a lookup table: tensors, or the lines of a text file (python/ops/lookup_ops.py)."""

import abc
from typing import Any, Final

from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import collections, convert, facts, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_Keys = collections.GraphKeys


def check_table_dtypes(table: Any, key_dtype: dtypes.DType, value_dtype: dtypes.DType) -> None:
    """Raise TypeError if a table has other dtypes."""
    for part, found, expected in (
        ("key", key_dtype.base_dtype, table.key_dtype),
        ("value", value_dtype.base_dtype, table.value_dtype),
    ):
        if found != expected:
            raise TypeError(f"Invalid {part} dtype for table, expected {expected} but got {found}.")


class TableInitializerBase(abc.ABC):
    """The keys and values of a table, which a subclass gives."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return self._value_dtype

    @property
    def shared_name(self) -> str:
        """The name under which equal tables of several graphs are one table, or ""."""
        return ""

    @abc.abstractmethod
    def initialize(self, table: Any) -> graphs.Operation:
        """Return the operation that fills `table`, and add it to `TABLE_INITIALIZERS`."""


class KeyValueTensorInitializer(TableInitializerBase):
    """The keys and values in two vectors."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        with graphs.get_default_graph().control_dependencies(None):
            self._keys = convert.convert_to_tensor(keys, key_dtype, "keys")
            self._values = convert.convert_to_tensor(values, value_dtype, "values")
        self._name = name or "key_value_init"
        super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

    def initialize(self, table: Any) -> graphs.Operation:
        """Return the operation that fills `table`, and add it to `TABLE_INITIALIZERS`.

        Raises:
            TypeError: the table has other dtypes.
            ValueError: the keys are not a vector, or the values have another shape.
        """
        check_table_dtypes(table, self._key_dtype, self._value_dtype)
        keys, values = self._keys.shape, self._values.shape
        if not (keys.is_compatible_with([None]) and values.is_compatible_with(keys)):
            raise ValueError(
                "The keys and values of a table must be two vectors of the same length, but have "
                f"the shapes {keys} and {values}."
            )
        inputs = (table.resource_handle, self._keys, self._values)
        with scoped(self._name, "key_value_init", inputs):
            fill: graphs.Operation = raw.LookupTableImportV2(*inputs)
        fill.graph.add_to_collection(_Keys.TABLE_INITIALIZERS, fill)
        return fill


class TextFileIndex:
    """The parts of a line that are not columns."""

    WHOLE_LINE: Final = -2
    LINE_NUMBER: Final = -1


class TextFileInitializer(TableInitializerBase):
    """A key and a value in each line of a text file.

    The task that holds the table reads the file. An index is that of a column between delimiters,
    or a member of TextFileIndex. `value_index_offset` is added to the numbers of lines.

    Raises:
        ValueError: the name of the file is empty, `vocab_size` is not positive, or an index is
            below -2 or does not fit its dtype.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if not isinstance(filename, graphs.Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        super().__init__(key_dtype, value_dtype)
        _check_index("key", key_index, self._key_dtype)
        _check_index("value", value_index, self._value_dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._filename = filename
        self._indices = key_index, value_index
        self._vocab_size = vocab_size
        self._delimiter = delimiter
        self._name = name
        self._offset = value_index_offset

    def initialize(self, table: Any) -> graphs.Operation:
        """Return the operation that fills `table`, and add it to `TABLE_INITIALIZERS`.

        Raises:
            TypeError: the table has other dtypes.
        """
        check_table_dtypes(table, self._key_dtype, self._value_dtype)
        key_index, value_index = self._indices
        with scoped(self._name, "text_file_init", (table.resource_handle,)):
            filename = convert.convert_to_tensor(self._filename, dtypes.string, "asset_filepath")
            fill: graphs.Operation = raw.InitializeTableFromTextFileV2(
                table.resource_handle,
                filename,
                key_index=key_index,
                value_index=value_index,
                vocab_size=self._vocab_size or -1,
                delimiter=self._delimiter,
                offset=self._offset,
            )
        fill.graph.add_to_collection(_Keys.TABLE_INITIALIZERS, fill)
        if opdef.role(filename.op.type) is facts.Role.CONSTANT:
            fill.graph.add_to_collection(_Keys.ASSET_FILEPATHS, filename)
        return fill

    @property
    def shared_name(self) -> str:
        parts = [self._filename, self._vocab_size, *self._indices, self._offset or None]
        return "_".join(["hash_table", *(str(part) for part in parts if part is not None)])


def _check_index(part: str, index: int, dtype: dtypes.DType) -> None:
    if index < TextFileIndex.WHOLE_LINE:
        raise ValueError(f"`{part}_index` should be >= -2, received: {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
        raise ValueError(
            f"`{part}_dtype` must be int64 if `{part}_index` is {index}, received: {dtype}"
        )
    if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype == dtypes.string):
        raise ValueError(
            f"`{part}_dtype` should be either integer or string for `{part}_index` {index}, "
            f"received: {dtype}"
        )


class TextFileStringTableInitializer(TextFileInitializer):
    """Strings by the numbers of their lines."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename,
            dtypes.int64,
            key_column_index,
            dtypes.string,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """The numbers of lines by the strings or numbers in them."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ) -> None:
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            dtypes.int64,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )
