"""Batches of images whose files a table lists (keras_preprocessing/image/dataframe_iterator.py)."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.keras.preprocessing import file_batches

_WITHOUT_CLASSES = ("input", "multi_output", "raw", None)
_CLASS_MODES = ("binary", "categorical", "sparse", *_WITHOUT_CLASSES)


class DataFrameIterator(file_batches.FilesIterator):
    """Batches of images whose paths are a column of a DataFrame of pandas, or of a dictionary.

    `class_mode` is one of `DirectoryIterator`, "raw" for the values of the column `y_col`, or
    "multi_output" for those of several columns.
    """

    def __init__(
        self,
        dataframe: Any,
        directory: Any = None,
        image_data_generator: Any = None,
        x_col: str = "filename",
        y_col: Any = "class",
        weight_col: str | None = None,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Iterable[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        dtype: Any = None,
        validate_filenames: bool = True,
    ) -> None:
        """Raises ValueError or TypeError if an argument or a column does not fit the others."""
        if class_mode not in _CLASS_MODES:
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {_CLASS_MODES}")
        if class_mode == "multi_output" and not isinstance(y_col, list):
            raise TypeError(
                f'If class_mode="{class_mode}", y_col must be a list. Received '
                f"{type(y_col).__name__}."
            )
        super().__init__(
            os.fspath(directory or ""), image_data_generator, target_size, color_mode, class_mode,
            data_format, (save_to_dir, save_prefix, save_format), subset, interpolation, dtype,
        )  # fmt: skip
        has_classes = class_mode not in _WITHOUT_CLASSES
        columns = [x_col, *([weight_col] if weight_col else ())]
        if class_mode in ("multi_output", "raw") or has_classes:
            columns += y_col if isinstance(y_col, list) else [y_col]
        table = {column: list(dataframe[column]) for column in columns}
        _check(table, x_col, y_col, weight_col, class_mode, classes)
        if validate_filenames:
            table = self._existing(table, x_col)
        known: list[str] = []
        if has_classes:
            table, known = _with_classes(table, y_col, classes)
            self.class_indices = {name: number for number, name in enumerate(known)}
        if self.split is not None:
            first, last = (int(share * len(table[x_col])) for share in self.split)
            table = {column: values[first:last] for column, values in table.items()}
        self.filenames = table[x_col]
        self._take(table, y_col, weight_col)
        kind = "validated" if validate_filenames else "non-validated"
        ending = f" belonging to {len(known)} classes" if has_classes else ""
        sys.stdout.write(f"Found {len(self.filenames)} {kind} image filenames{ending}.\n")
        self._start(batch_size, shuffle, seed)

    def _existing(self, table: Mapping[str, list[Any]], column: str) -> dict[str, list[Any]]:
        """Return the rows whose files exist and are images by their names."""

        def is_image(name: str) -> bool:
            path = os.path.join(self.directory, name)
            return path.lower().endswith(file_batches.ENDINGS) and os.path.isfile(path)

        kept = _rows(table, column, is_image)
        missing = len(table[column]) - len(kept[column])
        if missing:
            logging.warning(
                'Found %d invalid image filename(s) in x_col="%s". These filename(s) will be '
                "ignored.",
                missing,
                column,
            )
        return kept

    def _take(self, table: Mapping[str, list[Any]], y_col: Any, weight_col: str | None) -> None:
        """Keep the targets and the weights of the rows."""
        if weight_col:
            self._sample_weight = np.array(table[weight_col])
        if self.class_mode == "multi_output":
            self._targets = [np.array(table[column]) for column in y_col]
        elif self.class_mode == "raw":
            listed = isinstance(y_col, list)
            columns = [np.array(table[each]) for each in (y_col if listed else [y_col])]
            self._targets = np.stack(columns, 1) if listed else columns[0]
        elif self.class_mode not in _WITHOUT_CLASSES:
            self.classes = [
                [self.class_indices[each] for each in label]
                if isinstance(label, list | tuple)
                else self.class_indices[label]
                for label in table[y_col]
            ]


def _check(
    table: Mapping[str, list[Any]],
    x_col: str,
    y_col: Any,
    weight_col: str | None,
    class_mode: str | None,
    classes: Any,
) -> None:
    if not all(isinstance(each, str) for each in table[x_col]):
        raise TypeError(f"All values in column x_col={x_col} must be strings.")
    if weight_col and np.array(table[weight_col]).dtype.kind not in "iuf":
        raise TypeError(f"Column weight_col={weight_col} must be numeric.")
    if class_mode in _WITHOUT_CLASSES:
        if classes:
            logging.warning('`classes` will be ignored given the class_mode="%s"', class_mode)
        return
    types = (str, list, tuple) if class_mode == "categorical" else (str,)
    if not all(isinstance(each, types) for each in table[y_col]):
        wanted = "type string, list or tuple" if class_mode == "categorical" else "strings"
        raise TypeError(
            f'If class_mode="{class_mode}", y_col="{y_col}" column values must be {wanted}.'
        )
    count = len(set(classes or table[y_col])) if class_mode == "binary" else 2
    if count != 2:
        raise ValueError(f'If class_mode="binary" there must be 2 classes. Found {count} classes.')


def _with_classes(
    table: Mapping[str, list[Any]], column: str, classes: Iterable[str] | None
) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the rows with a class of `classes`, and all classes, sorted."""
    labels = table[column]
    if classes:
        known = set(classes)
        labels = [
            [each for each in label if each in known]
            if isinstance(label, list | tuple)
            else label if label in known else None
            for label in labels
        ]  # fmt: skip
    else:
        listed = (label if isinstance(label, list | tuple) else [label] for label in labels)
        known = {each for label in listed for each in label}
    return _rows({**table, column: labels}, column, bool), sorted(known)


def _rows(
    table: Mapping[str, list[Any]], column: str, condition: Callable[[Any], bool]
) -> dict[str, list[Any]]:
    kept = [number for number, value in enumerate(table[column]) if condition(value)]
    return {name: [values[number] for number in kept] for name, values in table.items()}
