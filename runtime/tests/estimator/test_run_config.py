"""RunConfig finds the place of a task in TF_CONFIG, and checks the settings of a run."""

import json

import pytest

import capstan as tf

CLUSTER = {
    "chief": ["host0:1"],
    "ps": ["host1:1", "host2:1"],
    "worker": ["host3:1", "host4:1", "host5:1"],
}
OLD = {"master": ["host0:1"], "ps": ["host1:1"], "worker": ["host2:1"]}
FIELDS = (
    *("task_type", "task_id", "global_id_in_cluster", "master", "evaluation_master"),
    *("num_ps_replicas", "num_worker_replicas", "is_chief"),
)


@pytest.fixture
def config(monkeypatch):
    def make(tf_config=None, **settings):
        monkeypatch.setenv("TF_CONFIG", json.dumps(tf_config or {}))
        return tf.estimator.RunConfig(**settings)

    return make


def _task(cluster, job, index):
    return {"cluster": cluster, "task": {"type": job, "index": index}}


@pytest.mark.parametrize(
    "tf_config, fields",
    [
        ({}, ("worker", 0, 0, "", "", 0, 1, True)),
        (_task(CLUSTER, "chief", 0), ("chief", 0, 0, "grpc://host0:1", "", 2, 4, True)),
        (_task(CLUSTER, "worker", 1), ("worker", 1, 2, "grpc://host4:1", "", 2, 4, False)),
        (_task(CLUSTER, "ps", 1), ("ps", 1, 5, "grpc://host2:1", "", 2, 4, False)),
        (_task(CLUSTER, "evaluator", 0), ("evaluator", 0, None, "", "", 0, 0, False)),
        (_task({"chief": ["h:1"]}, "chief", 0), ("chief", 0, 0, "", "", 0, 1, True)),
        (_task(OLD, "master", 0), ("master", 0, 0, "grpc://host0:1", "", 1, 2, True)),
        (
            {"session_master": "m", "eval_session_master": "e"},
            ("worker", 0, 0, "m", "e", 0, 1, True),
        ),
    ],
)
def test_each_task_finds_its_place_in_the_cluster(config, tf_config, fields):
    found = config(tf_config)
    assert tuple(getattr(found, name) for name in FIELDS) == fields


def test_an_evaluator_sees_no_cluster(config):
    assert not config(_task(CLUSTER, "evaluator", 0)).cluster_spec
    assert config(_task(CLUSTER, "ps", 0)).cluster_spec == tf.train.ClusterSpec(CLUSTER)


@pytest.mark.parametrize(
    "tf_config, message",
    [
        ({"task": {"type": "ps"}}, "task type must be WORKER"),
        ({"task": {"index": 1}}, "task index must be 0"),
        (
            {"cluster": {"worker": ["h:1"]}},
            'must have one "chief" node. In a TrainingJob, add chief to spec.replicaSpecs',
        ),
        (_task({"chief": ["h:1", "i:1"]}, "chief", 0), 'only one "chief" node'),
        ({"cluster": CLUSTER}, "task type must be set"),
        ({"cluster": CLUSTER, "task": {"type": "ps"}}, "task index must be set"),
        (_task(CLUSTER, "ps", -1), "non-negative"),
        (_task(CLUSTER, "ps", 2), "2 is not a valid task_id"),
        (_task(CLUSTER, "cook", 0), "cook is not a valid task_type"),
        (_task({**OLD, "chief": ["h:1"]}, "ps", 0), "`chief` is not supported"),
        (_task(OLD, "evaluator", 0), "`evaluator` is not supported"),
        ({**_task(CLUSTER, "ps", 0), "eval_session_master": "e"}, "eval_session_master"),
        ({"model_dir": ""}, "model_dir in TF_CONFIG should be non-empty"),
    ],
)
def test_a_tf_config_that_does_not_fit_is_refused(config, tf_config, message):
    with pytest.raises(ValueError, match=message):
        config(tf_config)


@pytest.mark.parametrize("text", ["{'cluster': {}}", "[]"])
def test_a_tf_config_that_is_no_json_object_is_named(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=r"TF_CONFIG (is not JSON|must be a JSON object)"):
        tf.estimator.RunConfig()


def test_a_service_that_is_no_dictionary_is_refused(config):
    assert config({"service": {"a": 1}}).service == {"a": 1}
    with pytest.raises(TypeError, match='If "service" is set'):
        config({"service": 1})


@pytest.mark.parametrize(
    "settings",
    [
        {"model_dir": ""},
        {"tf_random_seed": 1.5},
        {"save_summary_steps": -1},
        {"save_checkpoints_steps": -1},
        {"save_checkpoints_secs": -1},
        {"session_config": {}},
        {"keep_checkpoint_max": -1},
        {"keep_checkpoint_every_n_hours": 0},
        {"log_step_count_steps": 0},
        {"device_fn": lambda x: x},
        {"protocol": "tcp"},
        {"train_distribute": object()},
        {"eval_distribute": object()},
        {"experimental_distribute": tf.contrib.distribute.ParameterServerStrategy()},
        {"session_creation_timeout_secs": 0},
    ],
)
def test_a_setting_out_of_range_is_refused_by_its_name(config, settings):
    (name,) = settings
    with pytest.raises(ValueError, match=name):
        config(**settings)
    if name != "model_dir":
        with pytest.raises(ValueError, match=name):
            config().replace(**settings)


def test_a_distribute_config_gives_the_strategies_of_training_and_evaluation(config):
    mirrored, servers = tf.distribute.MirroredStrategy(["cpu:0"]), _servers()
    both = tf.contrib.distribute.DistributeConfig(mirrored, eval_distribute=servers)
    found = config(experimental_distribute=both)
    assert (found.train_distribute, found.eval_distribute) == (mirrored, servers)
    only = tf.contrib.distribute.DistributeConfig(eval_distribute=mirrored)
    mixed = config(train_distribute=servers, experimental_distribute=only)
    assert (mixed.train_distribute, mixed.eval_distribute) == (servers, mirrored)
    assert mixed.experimental_distribute is only


def test_the_place_in_the_cluster_follows_the_strategy_of_a_distribute_config(config):
    workers = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}
    strategy = tf.contrib.distribute.CollectiveAllReduceStrategy()
    found = config(
        workers, experimental_distribute=tf.contrib.distribute.DistributeConfig(strategy)
    )
    assert found.is_chief
    assert found.num_worker_replicas == 2


def test_a_distribute_config_is_refused_if_its_strategy_is_set_twice_or_it_has_a_cluster(config):
    strategies = tf.contrib.distribute.DistributeConfig(_servers())
    with pytest.raises(ValueError, match="Either `train_distribute` or"):
        config(train_distribute=_servers(), experimental_distribute=strategies)
    remote = strategies._replace(remote_cluster={"worker": ["a:1"]})
    with pytest.raises(ValueError, match="Run the program in each task, with TF_CONFIG"):
        config(experimental_distribute=remote)


def _servers():
    return tf.contrib.distribute.ParameterServerStrategy()


def test_one_interval_of_checkpoints_takes_the_place_of_the_other(config):
    assert config().save_checkpoints_secs == 600
    by_steps = config(save_checkpoints_steps=5)
    assert (by_steps.save_checkpoints_steps, by_steps.save_checkpoints_secs) == (5, None)
    by_secs = by_steps.replace(save_checkpoints_secs=7)
    assert (by_secs.save_checkpoints_steps, by_secs.save_checkpoints_secs) == (None, 7)
    with pytest.raises(ValueError, match="cannot be both set"):
        config(save_checkpoints_steps=1, save_checkpoints_secs=1)
    with pytest.raises(ValueError, match="cannot be both set"):
        by_steps.replace(save_checkpoints_steps=1, save_checkpoints_secs=1)


def test_replace_changes_a_copy_and_only_settings(config):
    first = config(save_summary_steps=3)
    assert first.replace(save_summary_steps=4).save_summary_steps == 4
    assert first.save_summary_steps == 3
    with pytest.raises(ValueError, match="Replacing task_id is not supported"):
        first.replace(task_id=1)


def test_the_folder_of_the_program_and_of_tf_config_must_agree(config):
    assert config({"model_dir": "/a"}).model_dir == "/a"
    assert config({"model_dir": "/a"}, model_dir="/a").model_dir == "/a"
    with pytest.raises(ValueError, match="must have the same value"):
        config({"model_dir": "/a"}, model_dir="/b")


@pytest.mark.parametrize(
    "job, filters",
    [
        ("chief", ["/job:ps", "/job:chief"]),
        ("worker", ["/job:ps", "/job:worker/task:0"]),
        ("ps", ["/job:ps", "/job:worker", "/job:chief", "/job:master"]),
    ],
)
def test_the_sessions_of_a_task_see_the_task_and_the_ps(config, job, filters):
    assert list(config(_task(CLUSTER, job, 0)).session_config.device_filters) == filters


def test_sessions_of_evaluators_and_of_programs_have_no_default_filters(config):
    assert config(_task(CLUSTER, "evaluator", 0)).session_config is None
    own = tf.ConfigProto(log_device_placement=True)
    assert config(_task(CLUSTER, "chief", 0), session_config=own).session_config is own


@pytest.mark.parametrize("of", [tf.distribute.experimental, tf.contrib.distribute])
def test_a_strategy_of_parameter_servers_is_a_setting(config, of):
    strategy = of.ParameterServerStrategy()
    made = config(
        _task(CLUSTER, "worker", 1), train_distribute=strategy, eval_distribute=strategy
    ).replace(save_summary_steps=7)
    assert isinstance(made.train_distribute, of.ParameterServerStrategy)
    assert isinstance(made.eval_distribute, of.ParameterServerStrategy)
    assert made.train_distribute.num_replicas_in_sync == 1


def test_a_strategy_may_have_no_other_cluster_than_tf_config(config, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps(_task(CLUSTER, "chief", 0)))
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    config(_task(CLUSTER, "chief", 0), train_distribute=strategy)
    with pytest.raises(ValueError, match="Set TF_CONFIG to the cluster of"):
        config(_task(OLD, "ps", 0), train_distribute=strategy)
    monkeypatch.delenv("TF_CONFIG")
    alone = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    with pytest.raises(ValueError, match="Cluster spec must be non-empty"):
        tf.distribute.experimental.ParameterServerStrategy(alone)
    with pytest.raises(ValueError, match="Start a worker for each GPU"):
        tf.contrib.distribute.ParameterServerStrategy(2)
