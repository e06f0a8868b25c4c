"""A database of summaries has the rows that TensorFlow writes."""

import sqlite3
from pathlib import Path
from typing import Any

import genuine
import numpy as np

import capstan

pytestmark = genuine.MARKS

QUERIES = {
    "tables": "SELECT type, name, tbl_name FROM sqlite_master ORDER BY name",
    "columns": "SELECT m.name, c.name, c.type, c.pk FROM sqlite_master m "
    "JOIN pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid",
    "indexes": "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_index_info(m.name) c "
    "WHERE m.type = 'index' ORDER BY m.name, c.seqno",
    "application": "PRAGMA application_id",
    "tensors": "SELECT r.run_name, e.experiment_name, u.user_name, g.tag_name, g.display_name, "
    "g.plugin_name, g.plugin_data, d.description, t.step, t.dtype, t.shape, t.data "
    "FROM Tensors t JOIN Tags g ON t.series = g.tag_id JOIN Descriptions d ON d.id = g.tag_id "
    "JOIN Runs r USING (run_id) JOIN Experiments e USING (experiment_id) JOIN Users u USING "
    "(user_id) WHERE t.dtype IS NOT NULL ORDER BY g.tag_name, t.step",
    "strings": "SELECT g.tag_name, s.idx, s.data FROM TensorStrings s JOIN Tensors t ON "
    "t.rowid = s.tensor_rowid JOIN Tags g ON t.series = g.tag_id ORDER BY g.tag_name, s.idx",
    "nodes": "SELECT node_id, node_name, op, device FROM Nodes ORDER BY node_id",
    "edges": "SELECT node_id, idx, input_node_id, input_node_idx, is_control FROM NodeInputs "
    "ORDER BY node_id, idx",
    "runs": "SELECT r.finished_time IS NOT NULL, r.started_time <= r.inserted_time, is_watching "
    "FROM Runs r JOIN Experiments USING (experiment_id)",
}


def written(tf: Any, path: Path, graph: bytes) -> dict[str, list[Any]]:
    """Return the rows of a database to which a session writes summaries of all kinds."""
    metadata = capstan.SummaryMetadata()
    metadata.plugin_data.plugin_name, metadata.plugin_data.content = "mine", b"\x00data"
    metadata.display_name, metadata.summary_description = "shown", "described"
    description = metadata.SerializeToString()
    with tf.Graph().as_default(), tf.Session() as session:
        raw = tf.raw_ops
        writer = raw.SummaryWriter(shared_name="", container="")
        opened = raw.CreateSummaryDbWriter(
            writer=writer, db_uri=str(path), experiment_name="e", run_name="r", user_name="u"
        )
        picture = np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3)

        def tensor(tag: str, value: Any, step: int = 7) -> Any:
            return raw.WriteSummary(
                writer=writer, step=np.int64(step), tensor=value, tag=tag,
                summary_metadata=description,
            )  # fmt: skip

        events = [
            *(
                raw.WriteScalarSummary(
                    writer=writer, step=np.int64(step), tag="scalar", value=np.float32(step / 4)
                )
                for step in (1, 2, 2)
            ),
            tensor("matrix", np.int64([[1, 2], [3, 4]])),
            tensor("word", tf.constant("word")),
            tensor("words", tf.constant([["a", "b"], ["", "c\x00d"]])),
            tensor("halves", np.float16([1, 2])),
            raw.WriteHistogramSummary(
                writer=writer, step=np.int64(3), tag="histogram", values=np.float32([1, 2, 2, 5])
            ),
            raw.WriteImageSummary(
                writer=writer, step=np.int64(3), tag="image", tensor=picture,
                bad_color=np.uint8([255, 0, 0, 255]),
            ),
            raw.WriteGraphSummary(writer=writer, step=np.int64(0), tensor=graph),
        ]  # fmt: skip
        session.run(opened)
        for event in events:
            session.run(event)
        session.run(raw.FlushSummaryWriter(writer=writer))
        session.run(raw.CloseSummaryWriter(writer=writer))
    database = sqlite3.connect(path)
    try:
        return {name: database.execute(query).fetchall() for name, query in QUERIES.items()}
    finally:
        database.close()


def test_the_rows_are_those_of_tensorflow(v1: Any, tmp_path: Path) -> None:
    with capstan.Graph().as_default() as graph:
        x = capstan.constant([1.0], name="x")
        with capstan.control_dependencies([x]):
            capstan.split(x, 1, name="y")
    serialized = graph.as_graph_def().SerializeToString()
    ours = written(capstan, tmp_path / "ours", serialized)
    theirs = written(v1, tmp_path / "theirs", serialized)
    images = [row for row in ours["strings"] if row[0].startswith("image") and row[1] == 2]
    assert images
    for rows in (ours, theirs):  # The encoders differ.
        rows["strings"] = [row for row in rows["strings"] if row[1] != 2 or row[0] == "words"]
    for name in QUERIES:
        assert ours[name] == theirs[name], name
