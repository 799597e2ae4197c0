# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`config.yaml`."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import read_json_yaml

Json = dict[str, t.Any]


def text_of(around: t.Any) -> str:
    (made,) = around.app.config_maps()
    assert list(made["data"]) == ["config.yaml"]
    return str(made["data"]["config.yaml"])


def config(around: t.Any) -> Json:
    found = read_json_yaml(text_of(around))
    assert isinstance(found, dict)
    return found


def same(one: t.Any, other: t.Any) -> bool:
    """Whether two are equal, and 1 is not true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def test_config_text_minimal(around: t.Any) -> None:
    assert same(
        config(around),
        {
            "namespace": "ns",
            "entity_store_url": "http://es",
            "nemo_data_store_url": "http://ds",
            "mlflow_tracking_url": "http://ml",
            "wandb": {"project": "nvidia-nemo-customizer", "entity": "null"},
            "model_download_jobs": {
                "image": "r.example/download:1",
                "imagePullPolicy": "",
                "imagePullSecrets": [],
                "securityContext": None,
                "ttlSecondsAfterFinished": 60,
                "pollIntervalSeconds": 15,
            },
            "nemo_data_store_tools": {"image": "r.example/tools:1"},
            "training": {
                "image": "r.example/train:2",
                "imagePullPolicy": "",
                "imagePullSecrets": [],
                "env": None,
                "training_networking": None,
                "workspace_dir": "/pvc/workspace",
                "use_run_ai_executor": False,
                "pvc": {"storageClass": "", "volumeAccessMode": "", "size": ""},
                "volumes": [
                    {
                        "name": "models",
                        "persistentVolumeClaim": {"claimName": "cu-pvc", "readOnly": True},
                    },
                    {"name": "dshm", "emptyDir": {"medium": "Memory"}},
                ],
                "volumeMounts": [
                    {"name": "models", "mountPath": "/mount/models", "readOnly": True},
                    {"name": "dshm", "mountPath": "/dev/shm"},
                ],
            },
        },
    )


TOLERATION = {"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}


@pytest.mark.parametrize(
    ("field", "value", "path", "expected"),
    [
        ("wandb.entity", "team", "wandb.entity", "team"),
        ("wandb.entity", "null", "wandb.entity", "null"),
        ("wandb.projectName", "p", "wandb.project", "p"),
        ("image.pullPolicy", "Always", "model_download_jobs.imagePullPolicy", "Always"),
        ("image.pullPolicy", "Always", "training.imagePullPolicy", "Always"),
        ("modelDownloadJobs.imagePullPolicy", "Never", "model_download_jobs.imagePullPolicy", ""),
        ("trainingConfig.image.pullPolicy", "Never", "training.imagePullPolicy", ""),
        ("trainingConfig.image.pullSecrets", ["a"], "training.imagePullSecrets", []),
        ("image.pullSecrets", ["a", "b"], "nemo_data_store_tools.imagePullSecret", "a"),
        (
            "image.pullSecrets",
            ["a", "b"],
            "model_download_jobs.imagePullSecrets",
            [{"name": "a"}, {"name": "b"}],
        ),
        ("image.pullSecrets", ["a"], "training.imagePullSecrets", [{"name": "a"}]),
        ("modelDownloadJobs.securityContext", {}, "model_download_jobs.securityContext", {}),
        (
            "modelDownloadJobs.ngcAPISecret",
            {"name": "n"},
            "model_download_jobs.ngcAPISecretKey",
            "NGC_API_KEY",
        ),
        ("trainingConfig.env", [], "training.env", None),
        ("trainingConfig.env", [{"name": "A", "value": ""}], "training.env", [{"name": "A"}]),
        (
            "trainingConfig.networkConfig",
            [{"name": "A", "value": "0"}],
            "training.training_networking",
            [{"name": "A", "value": "0"}],
        ),
        ("trainingConfig.workspacePVC.mountPath", "/w", "training.workspace_dir", "/w"),
        ("trainingConfig.workspacePVC.storageClass", "fast", "training.pvc.storageClass", "fast"),
        ("scheduler.type", "runai", "training.use_run_ai_executor", True),
        ("scheduler.type", "volcano", "training.use_run_ai_executor", False),
        (
            "trainingConfig.ttlSecondsAfterFinished",
            0,
            "training.ttl_seconds_after_finished",
            0,
        ),
        ("trainingConfig.timeout", 3600, "training.training_timeout", 3600),
        ("trainingConfig.tolerations", [TOLERATION], "training.tolerations", [TOLERATION]),
        ("trainingConfig.nodeSelector", {"a": "true"}, "training.nodeSelector", {"a": "true"}),
        ("trainingConfig.affinity", {}, "training.affinity", {}),
        (
            "trainingConfig.resources",
            {"limits": {"nvidia.com/gpu": 1}},
            "training.resources.limits",
            {"nvidia.com/gpu": "1"},
        ),
    ],
)
def test_config_text_fields(
    around: t.Any, field: str, value: t.Any, path: str, expected: t.Any
) -> None:
    found: t.Any = config(around.set(field, value))
    for name in path.split("."):
        found = found[name]
    assert same(found, expected)


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("trainingConfig.tolerations", [], "tolerations"),
        ("trainingConfig.nodeSelector", {}, "nodeSelector"),
        ("trainingConfig.podAffinity", {"a": "b"}, "podAffinity"),
        ("trainingConfig.runaiQueue", "default", "runaiQueue"),
    ],
)
def test_config_text_omitted_fields(around: t.Any, field: str, value: t.Any, name: str) -> None:
    assert name not in config(around.set(field, value))["training"]


def test_config_text_download_secrets(around: t.Any) -> None:
    around.set("modelDownloadJobs.ngcAPISecret", {"name": "n", "key": "k"})
    around.set("modelDownloadJobs.hfSecret", {"name": "h", "key": "hk"})
    found = config(around)["model_download_jobs"]
    secrets = {key: value for key, value in found.items() if "ecret" in key}
    secrets.pop("imagePullSecrets")
    assert secrets == {
        "ngcAPISecret": "n",
        "ngcSecretName": "n",
        "ngcAPISecretKey": "k",
        "ngcSecretKey": "k",
        "hfSecretName": "h",
        "hfSecretKey": "hk",
    }


def test_config_text_volumes(around: t.Any) -> None:
    around.set("trainingConfig.modelPVC", {"name": "mine"})
    around.set("trainingConfig.sharedMemorySizeLimit", "8Gi")
    claim, memory = config(around)["training"]["volumes"]
    assert claim["persistentVolumeClaim"]["claimName"] == "mine"
    assert memory["emptyDir"] == {"medium": "Memory", "sizeLimit": "8Gi"}


def test_config_text_training_merge(around: t.Any) -> None:
    around.training["data"]["training"] = "{lr: 1e-4, on: 0644, image: x, pvc: {size: 1, mine: 2}}"
    found = config(around)["training"]
    assert same([found["lr"], found["true"]], [0.0001, 420])
    assert found["image"] == "r.example/train:2"
    assert found["pvc"] == {"storageClass": "", "volumeAccessMode": "", "size": ""}


@pytest.mark.parametrize("text", ["", "# nothing", "null", "{}"])
def test_config_text_training_empty(around: t.Any, text: str) -> None:
    around.training["data"]["training"] = text
    assert config(around)["training"]["image"] == "r.example/train:2"


def test_config_text_training_without_config_map(around: t.Any) -> None:
    before = config(around)
    around.set("trainingConfig.configMap", None).objects.remove(around.training)
    assert config(around) == before


@pytest.mark.parametrize("key", ["models", "customizationTargets", "customizationConfigTemplates"])
def test_config_text_model_keys(around: t.Any, key: str) -> None:
    assert key not in config(around)
    around.models["data"][key] = (
        "{m-70b: {num: 9007199254740993, t: '{{ x }}'}, m-8b: {d: 2020-01-01}}"
    )
    found = config(around)[key]
    assert found == {
        "m-70b": {"num": 9007199254740993, "t": "{{ x }}"},
        "m-8b": {"d": "2020-01-01"},
    }
    assert list(found) == ["m-8b", "m-70b"]


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [
        ("models", "a: [", "parsing models config: .*line 2, column 1"),
        ("customizationTargets", "a: .inf", "parsing customization targets config: line 1"),
        (
            "customizationConfigTemplates",
            "a: &a 1\nb: *a",
            "parsing customization config templates config: line 2, column 4: aliases",
        ),
        ("training", "a: [", "parsing training config: .*line 2, column 1"),
        ("training", "[a]", "parsing training config: it is not a mapping"),
        ("training", "[" * 99, "parsing training config: line 1, column 33: it is nested deeper"),
        ("training", "a" * 2**21, "parsing training config: it has more than 262144"),
    ],
)
def test_config_text_invalid(around: t.Any, key: str, text: str, why: str) -> None:
    (around.training if key == "training" else around.models)["data"][key] = text
    with pytest.raises(NimError, match=why) as raised:
        text_of(around)
    assert raised.value.reason == "ConfigMapFailed"


def test_config_text(around: t.Any) -> None:
    """Keys are sorted at every level, like in the recordings."""
    text = text_of(around)
    assert text.endswith(
        "workspace_dir: /pvc/workspace\nwandb:\n  entity: 'null'\n  project: nvidia-nemo-customizer\n"
    )
    keys = [line.split(":")[0] for line in text.splitlines() if line[0].isalpha()]
    assert keys == sorted(keys)
