# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children and inputs of a NemoCustomizer."""

from __future__ import annotations

import copy
import hashlib
import json
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import read_json_yaml
from ansible_collections.nimops.nim.plugins.module_utils._builders.inputs import (
    RECORD_ANNOTATION,
    RESTART_ANNOTATION,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    simulate,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    ReadDigest,
    ReadObject,
    ReadSecretPlaceholders,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.secret_placeholders import (
    SecretPlaceholder,
)
from ansible_collections.nimops.nim.plugins.module_utils._nemo.children import (
    find_missing,
)
from ansible_collections.nimops.nim.plugins.module_utils._nemo.customizer.kind import (
    HASH_ANNOTATION,
    KIND,
)
from ansible_collections.nimops.nim.plugins.module_utils._nemo.status import assess

Json = dict[str, t.Any]
FULL = ["create", "get", "list", "watch", "update", "delete", "patch"]
READ = ["get", "list", "watch"]


def pod(around: t.Any) -> Json:
    found: Json = around.children["Deployment"]["spec"]["template"]
    return found


def rows(env: list[Json]) -> list[str]:
    """Variables in short notation: name=value, name<Secret/key, name^field."""

    def source(item: Json) -> str:
        found = item.get("valueFrom")
        if not found:
            return f"={item.get('value', '')}"
        if secret := found.get("secretKeyRef"):
            assert set(secret) == {"name", "key"}
            return f"<{secret['name']}/{secret['key']}"
        return f"^{found['fieldRef']['fieldPath']}"

    return [f"{item['name']}{source(item)}" for item in env]


def test_desired_order(around: t.Any) -> None:
    assert list(around.children) == [
        *("ServiceAccount", "Role", "RoleBinding", "Service", "PersistentVolumeClaim"),
        *("ConfigMap", "Secret", "Deployment"),
    ]


def test_env(around: t.Any) -> None:
    assert rows(pod(around)["spec"]["containers"][0]["env"]) == [
        "NAMESPACE=ns",
        "HOST_IP^status.hostIP",
        "CONFIG_PATH=/app/config/config.yaml",
        "CUSTOMIZATIONS_CALLBACK_URL=http://cu.ns.svc.cluster.local:9009",
        "LOG_LEVEL=INFO",
        "WANDB_ENCRYPTION_KEY<wandb/encryptionKey",
        "WANDB_SECRET_NAME=wandb",
        "WANDB_SECRET_KEY=apiKey",
        "POSTGRES_DB_PASSWORD<pg-secret/password",
        "POSTGRES_DB_DSN<cu/dsn",
        "POSTGRES_SECRET_NAME=pg-secret",
        "OTEL_SDK_DISABLED=true",
    ]


def test_env_from_fields(around: t.Any) -> None:
    around.set("wandb", {"secretName": "w", "encryptionKey": "e", "apiKeyKey": "a"})
    around.set("otel", {"enabled": True}).set("env", [{"name": "LOG_LEVEL", "value": "DEBUG"}])
    found = rows(pod(around)["spec"]["containers"][0]["env"])
    assert found[0] == "LOG_LEVEL=DEBUG"
    assert "LOG_LEVEL=INFO" not in found
    assert found[5:8] == ["WANDB_ENCRYPTION_KEY<w/e", "WANDB_SECRET_NAME=w", "WANDB_SECRET_KEY=a"]
    assert found[11] == "OTEL_EXPORTER_OTLP_ENDPOINT="
    assert found[-1] == "OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED=true"


def test_ports_and_selector(around: t.Any) -> None:
    around.set("expose.service.port", 80)
    spec = around.children["Service"]["spec"]
    assert [(item["name"], item["port"], item["targetPort"]) for item in spec["ports"]] == [
        ("api", 80, "api"),
        ("internal", 9009, "internal"),
    ]
    assert spec["selector"] == {"app.kubernetes.io/name": "cu"}
    ports = pod(around)["spec"]["containers"][0]["ports"]
    assert [(item["name"], item["containerPort"]) for item in ports] == [
        ("api", 8000),
        ("internal", 9009),
    ]


@pytest.mark.parametrize(
    ("probe", "path", "times"),
    [
        ("livenessProbe", "/v1/health/live", (10, 10, 10, 1, 5)),
        ("readinessProbe", "/v1/health/ready", (10, 1, 10, 1, 3)),
        ("startupProbe", "/v1/health/ready", (30, 1, 10, 1, 30)),
    ],
)
def test_probes(around: t.Any, probe: str, path: str, times: tuple[int, ...]) -> None:
    found = pod(around)["spec"]["containers"][0][probe]
    assert found["httpGet"] == {"path": path, "port": "api"}
    names = ("initialDelay", "timeout", "period")
    assert times == (
        *(found[f"{name}Seconds"] for name in names),
        found["successThreshold"],
        found["failureThreshold"],
    )


def test_volumes(around: t.Any) -> None:
    spec = pod(around)["spec"]
    items = [{"key": "config.yaml", "path": "config.yaml"}]
    assert spec["volumes"] == [{"name": "config", "configMap": {"name": "cu", "items": items}}]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "config", "mountPath": "/app/config", "readOnly": True}
    ]
    assert "initContainers" not in spec


BATCH = [
    (["batch"], ["jobs"], FULL),
    (["batch"], ["jobs/status"], READ),
    (
        [""],
        ["pods", "persistentvolumeclaims", "services", "configmaps"],
        ["create", "get", "list", "watch", "delete"],
    ),
    ([""], ["events"], ["create", "get", "list", "watch"]),
    (
        ["nvidia.com"],
        ["nemotrainingjobs", "nemotrainingjobs/status", "nemoentityhandlers"],
        FULL,
    ),
]
VOLCANO = [
    (["batch.volcano.sh"], ["jobs"], FULL),
    (["batch.volcano.sh"], ["jobs/status"], READ),
    (["nodeinfo.volcano.sh"], ["numatopologies"], READ),
    (
        ["scheduling.incubator.k8s.io", "scheduling.volcano.sh"],
        ["queues", "queues/status", "podgroups"],
        READ,
    ),
]


@pytest.mark.parametrize(
    ("scheduler", "more"),
    [
        (None, VOLCANO),
        ({}, VOLCANO),
        ({"type": "volcano"}, VOLCANO),
        ({"type": "runai"}, [(["run.ai"], ["trainingworkloads", "runaijobs"], FULL)]),
    ],
)
def test_role(around: t.Any, scheduler: Json | None, more: list[t.Any]) -> None:
    around.spec["scheduler"] = scheduler
    first, *rules = around.children["Role"]["rules"]
    assert first["resourceNames"] == ["nonroot"]
    found = [(item["apiGroups"], item["resources"], item["verbs"]) for item in rules]
    assert found == [*BATCH, *more]


@pytest.mark.parametrize("scheduler", ["volcano", "runai"])
def test_operator_covers_role(around: t.Any, scheduler: str) -> None:
    held = {
        (rule.group, resource, verb)
        for rule in KIND.rules
        for resource in rule.resources.split()
        for verb in rule.verbs.split()
    }
    for rule in around.set("scheduler.type", scheduler).children["Role"]["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                assert {(group, resource, verb) for verb in rule["verbs"]} <= held


def test_secret(around: t.Any) -> None:
    made = around.children["Secret"]
    assert made["metadata"]["name"] == "cu"
    assert "annotations" not in made["metadata"]
    assert list(made["data"]) == ["dsn"]
    assert SecretPlaceholder.parse(made["data"]["dsn"]) == SecretPlaceholder(
        "pg-secret", "password", "postgresql://u%40x:", "@pg:5432/db"
    )


def test_config_map_without_annotations(around: t.Any) -> None:
    around.set("annotations", {"a": "b"})
    made = around.children["ConfigMap"]
    assert made["metadata"]["name"] == "cu"
    assert "annotations" not in made["metadata"]
    assert made["metadata"]["labels"]["app.kubernetes.io/part-of"] == "nemo-customizer-service"


@pytest.mark.parametrize(("given", "name"), [({}, "cu-pvc"), ({"name": "mine"}, "mine")])
def test_claim(around: t.Any, given: Json, name: str) -> None:
    around.spec["trainingConfig"]["modelPVC"] |= given
    made = around.children["PersistentVolumeClaim"]
    assert made["metadata"]["name"] == name
    assert made["metadata"]["ownerReferences"][0]["controller"] is True
    around.set("trainingConfig.modelPVC.size", "much")
    with pytest.raises(NimError, match=r"spec\.trainingConfig\.modelPVC\.size"):
        _ = around.children


def test_reads(around: t.Any) -> None:
    """It reads complete ConfigMaps, to compute with them, but only detects changes of Secrets."""
    around.answers["Deployment/ns/cu"] = None
    found = {read.key: read for read in KIND.reads(around.app)}
    one = [read for read in found.values() if read.target]
    maps = {read.name: read for read in one if read.kind == "ConfigMap"}
    assert set(maps) == {"cu", "models", "training"}
    assert all(isinstance(read, ReadObject) for read in maps.values())
    secrets = [read for read in one if read.kind == "Secret"]
    assert [read.name for read in secrets if isinstance(read, ReadSecretPlaceholders)] == ["cu"]
    digests = {read.name: read.keys for read in secrets if isinstance(read, ReadDigest)}
    assert digests == {
        "pg-secret": ("password",),
        "wandb": ("encryptionKey", "apiKey"),
    }


def test_reads_before_texts(around: t.Any) -> None:
    around.objects.clear()
    assert "ConfigMap/ns/models" in {read.key for read in KIND.reads(around.app)}


def drop(around: t.Any, name: str) -> None:
    around.objects.remove(getattr(around, name))


@pytest.mark.parametrize(
    ("change", "reason", "texts"),
    [
        (
            lambda around: drop(around, "models"),
            "ConfigMapNotFound",
            'Waiting for ConfigMap "models", which does not exist (spec.modelConfig.name)',
        ),
        (
            lambda around: drop(around, "training"),
            "ConfigMapNotFound",
            'Waiting for ConfigMap "training", which does not exist (spec.trainingConfig.configMap',
        ),
        (
            lambda around: around.training["data"].clear(),
            "ConfigMapKeyNotFound",
            'Waiting for ConfigMap "training" to have "training" (spec.trainingConfig.configMap',
        ),
        (
            lambda around: around.training.pop("data"),
            "ConfigMapKeyNotFound",
            'Waiting for ConfigMap "training" to have "training"',
        ),
        (
            lambda around: around.answers.update({'Secret/ns/pg-secret#["password"]': None}),
            "SecretNotFound",
            'Waiting for Secret "pg-secret"',
        ),
    ],
)
def test_missing(
    around: t.Any, change: t.Callable[[t.Any], t.Any], reason: str, texts: str
) -> None:
    assert find_missing(around.app) is None
    change(around)
    found = find_missing(around.app)
    assert found is not None
    assert found.reason == reason
    assert found.message.startswith(texts)
    assert {"ConfigMap", "Secret", "Deployment"}.isdisjoint(around.children)


def test_missing_names_all(around: t.Any) -> None:
    """S5: a user provides everything at once."""
    drop(around, "models")
    around.training["data"].clear()
    around.answers.update({key: None for key in around.answers if key.startswith("Secret/")})
    around.answers['Secret/ns/pg-secret#["password"]'] = None
    found = find_missing(around.app)
    assert found is not None
    assert found.reason == "ConfigMapNotFound"
    first, *others = found.message.split("; ")
    assert first.startswith('Waiting for ConfigMap "models", which does not exist')
    assert others[0].startswith('ConfigMap "training" to have "training"')
    assert 'Secret "pg-secret", which does not exist' in "; ".join(others[1:])


def test_invalid_text_requeues(around: t.Any) -> None:
    """No watch reports the correction, and the runtime retries failed runs with back-off."""
    around.training["data"]["training"] = "lr: &a 1\nb: *a"
    with pytest.raises(NimError) as raised:
        _ = around.children
    texts = (
        "parsing training config: line 2, column 4: aliases are not supported: write out their"
        " content"
    )
    assert str(raised.value) == texts
    outcome = Outcome(failure=texts, failure_reason=raised.value.reason)
    found = KIND.assess(around.app, outcome)
    assert (found.error, found.requeue.after, found.status["state"]) == ("", True, "Failed")
    (failed,) = (item for item in found.status["conditions"] if item["type"] == "Failed")
    assert (failed["reason"], failed["message"]) == ("ConfigMapFailed", texts)
    assert found.events[0].message == f"NemoCustomizer cu failed, msg: {texts}"
    assert found.source == "nemo-customizer-service-controller"


def test_empty_model_config_map(around: t.Any) -> None:
    del around.models["data"]
    assert find_missing(around.app) is None
    assert "Deployment" in around.children


def test_simulated_inputs(around: t.Any) -> None:
    resource = dict(around.app.resource)
    found = simulate([resource], Facts([around.training]).ask)
    ((note,),) = found.notes.values()
    assert 'ConfigMap "models"' in note
    found = simulate([resource], Facts([around.training, around.models]).ask)
    assert (found.notes, found.problems) == ({}, {})
    assert {"ConfigMap", "Secret", "Deployment"} <= {key.kind for key in found.wanted}


# The hash of config.yaml, and existing objects


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def live(around: t.Any, manifest: Json) -> Json:
    """Put an object into the cluster, replacing an existing one."""
    kind = manifest["kind"]
    around.objects[:] = [
        item
        for item in around.objects
        if (item["kind"], item["metadata"]["name"]) != (kind, manifest["metadata"]["name"])
    ]
    found = copy.deepcopy(manifest)
    around.objects.append(found)
    return found


def take_over(around: t.Any, text: str) -> str:
    """Objects of the reference: this text, and pods with its hash."""
    children = around.children
    data = {"config.yaml": text}
    live(around, children["ConfigMap"] | {"data": data})
    deployment = live(around, children["Deployment"])
    deployment["metadata"].pop("annotations")
    annotations = deployment["spec"]["template"]["metadata"]["annotations"]
    annotations[HASH_ANNOTATION] = sha(text)
    return sha(text)


def write(around: t.Any) -> None:
    """Apply what is desired."""
    for kind, made in around.children.items():
        if kind in ("ConfigMap", "Deployment"):
            live(around, made)


def annotations(around: t.Any) -> Json:
    found: Json = pod(around)["metadata"]["annotations"]
    return found


def test_hash_of_stored_text(around: t.Any) -> None:
    text = around.children["ConfigMap"]["data"]["config.yaml"]
    assert annotations(around)[HASH_ANNOTATION] == sha(text)
    assert RESTART_ANNOTATION not in annotations(around)


def test_equivalent_live_text_kept(around: t.Any) -> None:
    text = around.children["ConfigMap"]["data"]["config.yaml"]
    other = json.dumps(read_json_yaml(text)) + "\n"
    former = take_over(around, other)
    assert around.children["ConfigMap"]["data"] == {"config.yaml": other}
    for _pass in range(3):
        assert annotations(around)[HASH_ANNOTATION] == former
        assert RESTART_ANNOTATION not in annotations(around)
        write(around)


@pytest.mark.parametrize("text", ["a: 1\n", "a: [", "", "a: &a [*a]"])
def test_takeover_keeps_pods_with_other_text(around: t.Any, text: str) -> None:
    ours = around.children["ConfigMap"]["data"]
    former = take_over(around, text)
    for _pass in range(3):
        assert around.children["ConfigMap"]["data"] == ours
        assert annotations(around)[HASH_ANNOTATION] == former
        assert RESTART_ANNOTATION not in annotations(around)
        record = around.children["Deployment"]["metadata"]["annotations"][RECORD_ANNOTATION]
        assert json.loads(record)[HASH_ANNOTATION] == ["", sha(ours["config.yaml"])]
        write(around)


def test_takeover_keeps_pods_without_hash(around: t.Any) -> None:
    take_over(around, "a: 1\n")
    del around.objects[-1]["spec"]["template"]["metadata"]["annotations"][HASH_ANNOTATION]
    for _pass in range(2):
        assert HASH_ANNOTATION not in annotations(around)
        write(around)
    around.training["data"]["training"] = "lr: 1e-5"
    text = around.children["ConfigMap"]["data"]["config.yaml"]
    assert annotations(around)[HASH_ANNOTATION] == sha(text)


@pytest.mark.parametrize("is_taken_over", [True, False])
def test_changed_config_map_restarts_once(around: t.Any, is_taken_over: bool) -> None:
    if is_taken_over:
        take_over(around, "a: 1\n")
    write(around)
    before = annotations(around)
    write(around)
    around.training["data"]["training"] = "lr: 1e-5"
    text = around.children["ConfigMap"]["data"]["config.yaml"]
    after = annotations(around)
    assert after[HASH_ANNOTATION] == sha(text) != before[HASH_ANNOTATION]
    for _pass in range(3):
        write(around)
        assert annotations(around) == after


def test_config_map_comment_restarts_nothing(around: t.Any) -> None:
    write(around)
    before = annotations(around)
    around.training["data"]["training"] = "# a comment\n{}"
    assert annotations(around) == before


def test_sub_path_of_models_has_no_effect(around: t.Any) -> None:
    before = around.children
    around.set("trainingConfig.modelPVC.subPath", "models")
    assert around.children == before
    app = around.app
    [event] = [item for item in assess(app, Outcome()).events if item.reason == "Ignored"]
    assert event.message == "spec.trainingConfig.modelPVC.subPath has no effect"
    app.resource["metadata"]["generation"] = 2
    app.resource["status"] = {"state": "Ready", "observedGeneration": 2}
    assert [item for item in assess(app, Outcome()).events if item.reason == "Ignored"] == []
    app.resource["status"]["observedGeneration"] = 1
    assert "Ignored" in [item.reason for item in assess(app, Outcome()).events]
