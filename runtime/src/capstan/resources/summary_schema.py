"""The tables of a database of summaries, which TensorBoard defines (core/summary/schema.cc).

The rows of a user, an experiment, a run and a tag have numbers that are unique in the database. A
tag is a series of tensors, by step. A tensor of strings with axes has its strings in a table of
their own.
"""

from typing import Final

APPLICATION_ID: Final = 0xFEEDABEE
"""Marks the file of a database of summaries."""

TABLES: Final = {
    "Ids": "id INTEGER PRIMARY KEY",
    "Descriptions": "id INTEGER PRIMARY KEY, description TEXT",
    "Tensors": (
        "rowid INTEGER PRIMARY KEY, series INTEGER, step INTEGER, dtype INTEGER, "
        "computed_time REAL, shape TEXT, data BLOB"
    ),
    "TensorStrings": (
        "rowid INTEGER PRIMARY KEY, tensor_rowid INTEGER NOT NULL, idx INTEGER NOT NULL, data BLOB"
    ),
    "Tags": (
        "rowid INTEGER PRIMARY KEY, run_id INTEGER, tag_id INTEGER NOT NULL, "
        "inserted_time DOUBLE, tag_name TEXT, display_name TEXT, plugin_name TEXT, "
        "plugin_data BLOB"
    ),
    "Runs": (
        "rowid INTEGER PRIMARY KEY, experiment_id INTEGER, run_id INTEGER NOT NULL, "
        "inserted_time REAL, started_time REAL, finished_time REAL, run_name TEXT"
    ),
    "Experiments": (
        "rowid INTEGER PRIMARY KEY, user_id INTEGER, experiment_id INTEGER NOT NULL, "
        "inserted_time REAL, started_time REAL, is_watching INTEGER, experiment_name TEXT"
    ),
    "Users": (
        "rowid INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, inserted_time REAL, "
        "user_name TEXT, email TEXT"
    ),
    "Graphs": (
        "rowid INTEGER PRIMARY KEY, run_id INTEGER, graph_id INTEGER NOT NULL, "
        "inserted_time REAL, graph_def BLOB"
    ),
    "Nodes": (
        "rowid INTEGER PRIMARY KEY, graph_id INTEGER NOT NULL, node_id INTEGER NOT NULL, "
        "node_name TEXT, op TEXT, device TEXT, node_def BLOB"
    ),
    "NodeInputs": (
        "rowid INTEGER PRIMARY KEY, graph_id INTEGER NOT NULL, node_id INTEGER NOT NULL, "
        "idx INTEGER NOT NULL, input_node_id INTEGER NOT NULL, input_node_idx INTEGER, "
        "is_control INTEGER"
    ),
}

INDEXES: Final = {
    "TensorSeriesStepIndex": ("Tensors", ("series", "step"), ("series", "step")),
    "TensorStringIndex": ("TensorStrings", ("tensor_rowid", "idx"), ()),
    "TagIdIndex": ("Tags", ("tag_id",), ()),
    "TagRunNameIndex": ("Tags", ("run_id", "tag_name"), ("run_id", "tag_name")),
    "RunIdIndex": ("Runs", ("run_id",), ()),
    "RunNameIndex": ("Runs", ("experiment_id", "run_name"), ("run_name",)),
    "ExperimentIdIndex": ("Experiments", ("experiment_id",), ()),
    "ExperimentNameIndex": ("Experiments", ("user_id", "experiment_name"), ("experiment_name",)),
    "UserIdIndex": ("Users", ("user_id",), ()),
    "UserNameIndex": ("Users", ("user_name",), ("user_name",)),
    "UserEmailIndex": ("Users", ("email",), ("email",)),
    "GraphIdIndex": ("Graphs", ("graph_id",), ()),
    "GraphRunIndex": ("Graphs", ("run_id",), ("run_id",)),
    "NodeIdIndex": ("Nodes", ("graph_id", "node_id"), ()),
    "NodeNameIndex": ("Nodes", ("graph_id", "node_name"), ("node_name",)),
    "NodeInputsIndex": ("NodeInputs", ("graph_id", "node_id", "idx"), ()),
}
"""The unique indexes: a table, its columns, and the columns that a row must have."""


def statements() -> list[str]:
    """Return the statements that make the tables and the indexes which a database lacks."""
    made = [f"PRAGMA application_id={APPLICATION_ID}", "PRAGMA user_version=0"]
    made += [f"CREATE TABLE IF NOT EXISTS {name} ({columns})" for name, columns in TABLES.items()]
    for name, (table, columns, present) in INDEXES.items():
        where = " AND ".join(f"{column} IS NOT NULL" for column in present)
        made.append(
            f"CREATE UNIQUE INDEX IF NOT EXISTS {name} ON {table} ({', '.join(columns)})"
            + (f" WHERE {where}" if where else "")
        )
    return made
