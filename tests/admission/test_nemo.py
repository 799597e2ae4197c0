# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals of NeMo resources by the API server, and the fields that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

Manifest = dict[str, Any]
REQUIRED = "Required value"
EMPTY = "at least 1 chars"


def at(path: str, value: Any, text: str) -> tuple[Manifest, str, str]:
    """A refused value: patch, field and text of the refusal."""
    return {path: value}, path, text


IMAGE = {"repository": "nvcr.io/nvidia/nemo-microservices/some", "tag": "25.08"}
LONG = "a" * 254
GATEWAY = {"name": "g", "namespace": "gw"}
CLAIM = {"create": True, "size": "10Gi", "volumeAccessMode": "ReadWriteOnce"}
# Kind: a minimal resource.
LEAST = yaml.safe_load((Path(__file__).parent / "nemo.yaml").read_text())
DATABASE = LEAST["NemoEntitystore"]["databaseConfig"]
WITH_DATABASE = [kind for kind, spec in LEAST.items() if "databaseConfig" in spec]
STORE = {
    "endpoint": "minio:9000",
    "bucketName": "b",
    "region": "r",
    "ssl": False,
    "credentials": {"user": "u", "secretName": "s", "passwordKey": "p"},
}
SIZE = "must be a quantity greater than 0, such as 50Gi"
MODE = "must be ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod"
ONE_INGRESS = (
    ".spec.expose.ingress is deprecated, and will be removed in a future release. "
    "If .spec.expose.ingress is set, please do not set .spec.expose.router.ingress."
)
REPLICAS = "spec.replicas cannot be set when spec.scale.enabled is true"
ORDER = "must be at least spec.scale.hpa.minReplicas"
HOST = "is required with spec.expose.router.ingress or spec.expose.router.gateway"


def minimal(kind: str) -> Manifest:
    return {"kind": kind, "metadata": {"name": "some"}, "spec": LEAST[kind]}


def router(**fields: Any) -> Manifest:
    return {"spec.expose.router": {"hostDomainName": "example.com", **fields}}


def legacy(**fields: Any) -> Manifest:
    return {"spec.expose.ingress": {"enabled": True, **fields}}


def hpa(**fields: Any) -> Manifest:
    return {"spec.scale": {"enabled": True, "hpa": fields}}


Bad = dict[str, tuple[Manifest, str, str]]

# All kinds. Name: patch of the minimal resource, field that the refusal must name, part of its text.
BAD: Bad = {
    "no spec": at("spec", None, REQUIRED),
    "no image": at("spec.image", None, REQUIRED),
    "empty repository": at("spec.image.repository", "", EMPTY),
    "empty tag": at("spec.image.tag", "", EMPTY),
    "claims in resources": (
        {"spec.resources": {"claims": [{"name": "gpu"}]}},
        "spec.resources.claims",
        "must be empty, these pods have no claims of devices",
    ),
    "port 0": (
        {"spec.expose.service": {"port": 0}},
        "spec.expose.service.port",
        "greater than or equal to 1",
    ),
    "port 65536": (
        {"spec.expose.service": {"port": 65536}},
        "spec.expose.service.port",
        "less than or equal to 65535",
    ),
    "grpcPort": (
        {"spec.expose.service": {"grpcPort": 50051}},
        "spec.expose.service.grpcPort",
        "unsupported field: spec.expose.service.grpcPort",
    ),
    "metricsPort": (
        {"spec.expose.service": {"metricsPort": 9090}},
        "spec.expose.service.metricsPort",
        "unsupported field: spec.expose.service.metricsPort",
    ),
    "both ways to an ingress": (
        {
            **router(ingress={"ingressClass": "nginx"}),
            **legacy(spec={"ingressClassName": "nginx"}),
        },
        "spec.expose.ingress",
        ONE_INGRESS,
    ),
    "legacy ingress without spec": (
        legacy(),
        "spec.expose.ingress.spec",
        "spec cannot be nil when ingress is enabled",
    ),
    "legacy ingress without class": (
        legacy(spec={"host": "a.example"}),
        "spec.expose.ingress.spec.ingressClassName",
        REQUIRED,
    ),
    "legacy ingress with a class of no name": (
        legacy(spec={"ingressClassName": "_"}),
        "spec.expose.ingress.spec.ingressClassName",
        "should match",
    ),
    "grpc routes": (
        router(gateway={**GATEWAY, "grpcRoutesEnabled": True}),
        "spec.expose.router.gateway.grpcRoutesEnabled",
        "unsupported field: spec.expose.router.gateway.grpcRoutesEnabled",
    ),
    "ingress and gateway": (
        router(ingress={"ingressClass": "nginx"}, gateway=GATEWAY),
        "spec.expose.router",
        "ingress and gateway cannot be specified together",
    ),
    "ingress without domain": (
        {"spec.expose.router": {"ingress": {"ingressClass": "nginx"}}},
        "spec.expose.router.hostDomainName",
        HOST,
    ),
    "gateway without domain": (
        {"spec.expose.router": {"gateway": GATEWAY}},
        "spec.expose.router.hostDomainName",
        HOST,
    ),
    "bad domain": (
        router(hostDomainName="Example_com"),
        "spec.expose.router.hostDomainName",
        "should match",
    ),
    "backend service without port": (
        router(gateway={**GATEWAY, "backendRef": {"name": "b"}}),
        "spec.expose.router.gateway.backendRef.port",
        "Must have port for Service reference",
    ),
    "picker with two configs": (
        router(
            eppConfig={
                "containerSpec": {"name": "e", "image": IMAGE},
                "configMapRef": {"name": "c", "key": "k"},
                "config": {"plugins": [], "schedulingProfiles": []},
            }
        ),
        "spec.expose.router.eppConfig",
        "specify either configMapRef or config, not both",
    ),
    "replicas 0": at("spec.replicas", 0, "greater than or equal to 1"),
    "replicas and autoscaling": (
        {"spec.replicas": 2, **hpa(maxReplicas=3)},
        "spec.replicas",
        REPLICAS,
    ),
    "autoscaling without hpa": (
        {"spec.scale": {"enabled": True}},
        "spec.scale.hpa",
        "must be defined if spec.scale.enabled is true",
    ),
    "hpa of zeros": (hpa(maxReplicas=0), "spec.scale.hpa.maxReplicas", ORDER),
    "hpa with maximum below minimum": (
        hpa(minReplicas=3, maxReplicas=2),
        "spec.scale.hpa.maxReplicas",
        ORDER,
    ),
    "hpa with minimum 0": (
        hpa(minReplicas=0, maxReplicas=2),
        "spec.scale.hpa.minReplicas",
        "must be at least 1 without a metric of type External or Object",
    ),
    "scrape interval": (
        {"spec.metrics": {"serviceMonitor": {"interval": "1 minute"}}},
        "spec.metrics.serviceMonitor.interval",
        "should match",
    ),
    "unknown field": ({"spec.expose.service": {"ports": []}}, "", "unknown field"),
}
GOOD: dict[str, Manifest] = {
    "what is required": {},
    "expose of the reference": {"spec.expose": {"service": {}}},
    "expose without service": {"spec.expose": {}},
    "router without service": router(ingress={"ingressClass": "nginx", "tlsSecretName": "tls"}),
    "empty objects of the reference": {
        "spec.expose": {"ingress": {}, "router": {}, "service": {}},
        "spec.metrics": {"serviceMonitor": {}},
        "spec.scale": {"hpa": {"maxReplicas": 0, "minReplicas": 1}},
    },
    "ports": {"spec.expose.service": {"port": 65535, "type": "NodePort", "name": "ignored"}},
    "legacy ingress": legacy(spec={"ingressClassName": "nginx", "paths": [{}]}),
    "legacy ingress that is off": {"spec.expose.ingress": {"enabled": False}},
    "legacy ingress that is off beside a router": {
        **router(ingress={"ingressClass": "nginx"}),
        "spec.expose.ingress": {"enabled": False, "spec": {"ingressClassName": "nginx"}},
    },
    "legacy ingress beside a gateway": {
        **router(gateway=GATEWAY),
        **legacy(spec={"ingressClassName": "nginx"}),
    },
    "gateway": router(
        gateway={**GATEWAY, "grpcRoutesEnabled": False, "backendRef": {"name": "b", "port": 80}}
    ),
    "picker, ignored": router(
        eppConfig={"containerSpec": {"name": "e", "image": {"repository": "", "tag": ""}}}
    ),
    "replicas": {"spec.replicas": 1},
    "replicas with autoscaling off": {"spec.replicas": 2, "spec.scale": {"enabled": False}},
    "autoscaling": hpa(minReplicas=2, maxReplicas=2),
    "scaling to zero": hpa(minReplicas=0, maxReplicas=2, metrics=[{"type": "External"}]),
    "autoscaling of the least": hpa(maxReplicas=1),
    "metrics": {"spec.metrics": {"enabled": True}},
    "no claims in resources": {"spec.resources": {"claims": [], "limits": {"cpu": 1}}},
    "ignored": {"spec.podAffinity": {}, "spec.userID": 0, "spec.runtimeClass": "nvidia"},
}


def refused_names(*fields: str) -> Bad:
    """Cases for fields that name a Kubernetes object."""
    values = {"with capitals": "Some", "with spaces": "a b", "ending with a dash": "a-"}
    return {
        f"{field} {how}": ({field: value}, field, "should match")
        for field in fields
        for how, value in values.items()
    } | {
        f"{field} {how}": ({field: value}, field, text)
        for field in fields
        for how, value, text in (
            ("empty", "", "at least 1 chars"),
            ("too long", LONG, "Too long"),
        )
    }


def refused_keys(*fields: str) -> Bad:
    """Cases for fields that are a key in a Secret."""
    return {
        f"{field} {how}": ({field: value}, field, text)
        for field in fields
        for how, value, text in (
            ("empty", "", "at least 1 chars"),
            ("with a slash", "a/b", "should match"),
            ("too long", LONG, "Too long"),
        )
    }


def refused_claim(field: str) -> Bad:
    cases = {
        "size in words": ("size", {"size": "ten"}, f'"ten" {SIZE}'),
        "size 0": ("size", {"size": "0"}, SIZE),
        "negative size": ("size", {"size": "-1Gi"}, SIZE),
        "endless size": ("size", {"size": "1" * 65}, "Too long"),
        "access mode": ("volumeAccessMode", {"volumeAccessMode": "ReadWriteTwice"}, MODE),
        "name with capitals": ("name", {"name": "Claim"}, "should match"),
        "long name": ("name", {"name": LONG}, "Too long"),
    }
    return {
        name: ({field: {**CLAIM, **patch}}, f"{field}.{at}", text)
        for name, (at, patch, text) in cases.items()
    }


def accepted_claims(field: str) -> dict[str, Manifest]:
    return {
        "created claim": {field: CLAIM},
        "created claim of the default class": {field: {**CLAIM, "name": "", "storageClass": ""}},
        "claim that may exist": {field: {"create": True, "name": "a.b"}},
        "existing claim": {field: {"name": "p", "size": "ten", "volumeAccessMode": "odd"}},
        "claim of no name": {field: {}},
    }


def refused_places(*fields: str) -> Bad:
    return {
        f"{field} {how}": ({f"spec.{field}.endpoint": value}, f"spec.{field}.endpoint", text)
        for field in fields
        for how, value, text in (
            ("without scheme", "some:8000", "should match"),
            ("empty", "", "at least 1 chars"),
        )
    }


def required(*fields: str) -> Bad:
    return {f"no {field}": ({field: None}, field, "Required value") for field in fields}


DATABASE_BAD: Bad = {
    "database port 0": at("spec.databaseConfig.port", 0, "greater than or equal to 1"),
    "database port 65536": at("spec.databaseConfig.port", 65536, "less than or equal to 65535"),
    **{
        f"empty {field}": (
            {f"spec.databaseConfig.{field}": ""},
            f"spec.databaseConfig.{field}",
            "1",
        )
        for field in ("host", "databaseName", "credentials.user")
    },
    **required(
        "spec.databaseConfig.host",
        "spec.databaseConfig.databaseName",
        "spec.databaseConfig.credentials",
    ),
    **refused_names("spec.databaseConfig.credentials.secretName"),
    **refused_keys("spec.databaseConfig.credentials.passwordKey"),
}
OTEL_BAD: Bad = {
    "otel exporter": (
        {"spec.otel": {"exporterConfig": {"logsExporter": "jaeger"}}},
        "spec.otel.exporterConfig.logsExporter",
        'supported values: "otlp", "console", "none"',
    ),
    "otel log level": (
        {"spec.otel": {"logLevel": "WARN"}},
        "spec.otel.logLevel",
        'supported values: "INFO", "DEBUG"',
    ),
}
OTEL_GOOD: dict[str, Manifest] = {
    "otel": {"spec.otel": {"enabled": True, "exporterOtlpEndpoint": "http://c:4317"}},
    "otel of empty objects": {"spec.otel": {"exporterConfig": {}, "excludedUrls": []}},
}
JOBS = "spec.modelDownloadJobs"
TRAINING = "spec.trainingConfig"

# Kind: the same for one kind.
OWN_BAD: dict[str, Bad] = {
    "NemoCustomizer": {
        **DATABASE_BAD,
        **OTEL_BAD,
        **required(*(f"spec.{field}" for field in LEAST["NemoCustomizer"])),
        **required(f"{TRAINING}.image", f"{TRAINING}.modelPVC", f"{TRAINING}.workspacePVC"),
        **required(f"{JOBS}.ttlSecondsAfterFinished", f"{JOBS}.pollIntervalSeconds"),
        **refused_places("datastore", "entitystore", "mlflow"),
        **refused_names("spec.modelConfig.name", "spec.wandb.secretName"),
        **refused_names(
            f"{TRAINING}.configMap.name", f"{JOBS}.hfSecret.name", f"{JOBS}.ngcAPISecret.name"
        ),
        **refused_keys("spec.wandb.apiKeyKey", "spec.wandb.encryptionKey"),
        "key of NGC": (
            {f"{JOBS}.ngcAPISecret": {"name": "a", "key": "a b"}},
            f"{JOBS}.ngcAPISecret.key",
            "should match",
        ),
        "key of Hugging Face": (
            {f"{JOBS}.hfSecret": {"name": "a", "key": ""}},
            f"{JOBS}.hfSecret.key",
            EMPTY,
        ),
        **refused_claim(f"{TRAINING}.modelPVC"),
        "size of a workspace": (
            {f"{TRAINING}.workspacePVC": {"size": "ten"}},
            f"{TRAINING}.workspacePVC.size",
            f'"ten" {SIZE}',
        ),
        "endless size of a workspace": (
            {f"{TRAINING}.workspacePVC": {"size": "1" * 65}},
            f"{TRAINING}.workspacePVC.size",
            "Too long",
        ),
        "negative shared memory": at(
            f"{TRAINING}.sharedMemorySizeLimit", "-1Gi", "must not be negative"
        ),
        "image of training without tag": at(f"{TRAINING}.image.tag", "", EMPTY),
        "jobs that are kept too short": at(
            f"{JOBS}.ttlSecondsAfterFinished", 59, "greater than or equal to 60"
        ),
        "jobs that are watched too closely": at(
            f"{JOBS}.pollIntervalSeconds", 14, "greater than or equal to 15"
        ),
        "pull policy of jobs": at(f"{JOBS}.imagePullPolicy", "Sometimes", "Unsupported value"),
        "scheduler": (
            {"spec.scheduler": {"type": "slurm"}},
            "spec.scheduler.type",
            'supported values: "volcano", "runai"',
        ),
        "tools without image": at("spec.nemoDatastoreTools.image", "", EMPTY),
    },
    "NemoDatastore": {
        **DATABASE_BAD,
        **required("spec.databaseConfig", "spec.secrets"),
        **required(*(f"spec.secrets.{name}" for name in LEAST["NemoDatastore"]["secrets"])),
        **refused_names(*(f"spec.secrets.{name}" for name in LEAST["NemoDatastore"]["secrets"])),
        **refused_claim("spec.pvc"),
        **{
            f"store without {field}": (
                {"spec.objectStoreConfig": {k: v for k, v in STORE.items() if k != field}},
                f"spec.objectStoreConfig.{field}",
                "Required value",
            )
            for field in STORE
        },
        "store by a Secret of no name": (
            {
                "spec.objectStoreConfig": {
                    **STORE,
                    "credentials": {"user": "u", "secretName": "", "passwordKey": "p"},
                }
            },
            "spec.objectStoreConfig.credentials.secretName",
            EMPTY,
        ),
        "store by a key of no name": (
            {
                "spec.objectStoreConfig": {
                    **STORE,
                    "credentials": {"user": "u", "secretName": "s", "passwordKey": "a/b"},
                }
            },
            "spec.objectStoreConfig.credentials.passwordKey",
            "should match",
        ),
    },
    "NemoEntitystore": {
        **DATABASE_BAD,
        **required("spec.databaseConfig", "spec.datastore"),
        **refused_places("datastore"),
    },
    "NemoEvaluator": {
        **DATABASE_BAD,
        **OTEL_BAD,
        **required(*(f"spec.{field}" for field in LEAST["NemoEvaluator"])),
        **required("spec.argoWorkflows.serviceAccount"),
        **refused_places("argoWorkflows", "vectorDB", "datastore", "entitystore"),
        **{
            field: ({f"spec.{field}": "odd"}, f"spec.{field}", "Unsupported value")
            for field in ("evalLogLevel", "logHandlers", "consoleLogLevel")
        },
    },
    "NemoGuardrail": {
        **{
            name: ({"spec.databaseConfig": DATABASE, **patch}, field, text)
            for name, (patch, field, text) in DATABASE_BAD.items()
        },
        **OTEL_BAD,
        "two config stores": at(
            "spec.configStore",
            {"configMap": {"name": "c"}, "pvc": CLAIM},
            "Cannot set both ConfigMap and PVC in ConfigStore",
        ),
        **refused_names("spec.configStore.configMap.name"),
        **refused_claim("spec.configStore.pvc"),
        **{
            f"endpoint {url!r}": (
                {"spec.nimEndpoint": {"baseURL": url}},
                "spec.nimEndpoint.baseURL",
                text,
            )
            for url, text in (
                ("", "at least 1 chars"),
                ("http://llm:8000", "should match"),
                ("ftp://llm/v1", "should match"),
                ("http://%/v1", "must be of type uri"),
            )
        },
        "endpoint without URL": ({"spec.nimEndpoint": {}}, "spec.nimEndpoint.baseURL", REQUIRED),
        **{
            f"key of the API in {name!r}": (
                {"spec.nimEndpoint": {"baseURL": "http://llm/v1", "apiKeySecret": name}},
                "spec.nimEndpoint.apiKeySecret",
                "must be a name that a Secret can have",
            )
            for name in ("Some", "a_b", LONG)
        },
        **{
            f"key of the API called {key!r}": (
                {
                    "spec.nimEndpoint": {
                        "baseURL": "http://llm/v1",
                        "apiKeySecret": "s",
                        "apiKeyKey": key,
                    }
                },
                "spec.nimEndpoint.apiKeyKey",
                "must be a key that a Secret can have",
            )
            for key in ("", "a/b", LONG)
        },
    },
}
OWN_GOOD: dict[str, dict[str, Manifest]] = {
    "NemoCustomizer": {
        **OTEL_GOOD,
        **accepted_claims(f"{TRAINING}.modelPVC"),
        "workspace": {f"{TRAINING}.workspacePVC": {"size": "10Gi", "volumeAccessMode": ""}},
        "workspace of no size": {f"{TRAINING}.workspacePVC": {"size": ""}},
        "shared memory": {f"{TRAINING}.sharedMemorySizeLimit": "8Gi"},
        "no shared memory": {f"{TRAINING}.sharedMemorySizeLimit": 0},
        "training settings": {f"{TRAINING}.configMap": {"name": "training.example"}},
        "secrets of downloads": {
            f"{JOBS}.ngcAPISecret": {"name": "ngc"},
            f"{JOBS}.hfSecret": {"name": "hf", "key": "HF.TOKEN_1-a"},
        },
        "Run:ai": {"spec.scheduler": {"type": "runai"}},
    },
    "NemoDatastore": {
        **accepted_claims("spec.pvc"),
        "object store": {"spec.objectStoreConfig": {**STORE, "serveDirect": False}},
    },
    "NemoEntitystore": {"https": {"spec.datastore.endpoint": "https://store.example"}},
    "NemoEvaluator": {
        **OTEL_GOOD,
        "log": {"spec.logHandlers": "file", "spec.evalLogLevel": "DEBUG"},
        "no validation": {"spec.enableValidation": False},
    },
    "NemoGuardrail": {
        **OTEL_GOOD,
        **accepted_claims("spec.configStore.pvc"),
        # The operator reports a missing one.
        "neither config store": {"spec.configStore": {}},
        "config store": {"spec.configStore": {"configMap": {"name": "c"}}},
        "database": {"spec.databaseConfig": DATABASE},
        "endpoint": {"spec.nimEndpoint": {"baseURL": "http://llm:8000/v1", "apiKeySecret": "s"}},
        "endpoint that needs no key": {
            "spec.nimEndpoint": {
                "baseURL": "https://llm.example/v1/",
                "apiKeySecret": "",
                "apiKeyKey": "",
            }
        },
    },
}


def table(common: dict[str, Any], own: dict[str, dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(kind, case, id=f"{kind}-{name}")
        for kind in LEAST
        for name, case in {**common, **own[kind]}.items()
    ]


@pytest.mark.parametrize(("kind", "case"), table(BAD, OWN_BAD))
def test_nemo_invalid(cluster: Any, kind: str, case: tuple[Manifest, str, str]) -> None:
    patch, field, text = case
    refusal = cluster.create(minimal(kind), patch)
    assert refusal, "accepted"
    assert refusal.names(field, text) if field else text in refusal.message, refusal
    assert field in refusal.message


@pytest.mark.parametrize(("kind", "patch"), table(GOOD, OWN_GOOD))
def test_nemo_valid(cluster: Any, kind: str, patch: Manifest) -> None:
    assert cluster.create(minimal(kind), patch) is None


@pytest.mark.parametrize("kind", LEAST)
def test_nemo_update(cluster: Any, kind: str) -> None:
    manifest = minimal(kind)
    assert cluster.create(manifest, dry_run=False) is None
    edited = {"spec.image.tag": "25.10", "spec.userID": 1, "spec.labels": {"a": "b"}}
    if kind in WITH_DATABASE:
        edited["spec.databaseConfig.host"] = "other"
    assert cluster.replace(manifest, edited) is None
    assert cluster.replace(manifest, {"spec.replicas": 0}).names("spec.replicas", "1")
    cluster.delete(manifest)


# Defaults from the schema. Kind: patch, and value by path.
DEFAULTS: dict[str, tuple[Manifest, Manifest]] = {
    "NemoCustomizer": (
        {"spec.scheduler": {}, "spec.otel": {"exporterConfig": {}}},
        {
            "databaseConfig.port": 5432,
            "databaseConfig.credentials.passwordKey": "password",
            "modelDownloadJobs.imagePullPolicy": "IfNotPresent",
            "otel.excludedUrls": ["health"],
            "otel.exporterConfig.tracesExporter": "otlp",
            "otel.logLevel": "INFO",
            "scheduler.type": "volcano",
            "trainingConfig.runaiQueue": "default",
            "trainingConfig.workspacePVC.mountPath": "/pvc/workspace",
            "wandb.apiKeyKey": "apiKey",
            "wandb.encryptionKey": "encryptionKey",
            "wandb.entity": "null",
            "wandb.projectName": "nvidia-nemo-customizer",
        },
    ),
    "NemoDatastore": (
        {"spec.objectStoreConfig": STORE, "spec.expose": {"service": {}}},
        {"objectStoreConfig.serveDirect": True, "expose.service.port": 8000},
    ),
    "NemoEntitystore": (
        router(gateway=GATEWAY),
        {
            "expose.router.gateway.httpRoutesEnabled": True,
            "expose.router.gateway.grpcRoutesEnabled": False,
        },
    ),
    "NemoEvaluator": (
        {"spec.scale": {"hpa": {"maxReplicas": 1}}},
        {
            "consoleLogLevel": "INFO",
            "evalLogLevel": "INFO",
            "logHandlers": "console",
            "scale.hpa.minReplicas": 1,
        },
    ),
    "NemoGuardrail": (
        {"spec.nimEndpoint": {"baseURL": "http://llm/v1"}},
        {"nimEndpoint.apiKeyKey": "NIM_ENDPOINT_API_KEY"},
    ),
}


@pytest.mark.parametrize(
    ("kind", "patch", "values"), [(kind, *case) for kind, case in DEFAULTS.items()]
)
def test_nemo_defaults(cluster: Any, kind: str, patch: Manifest, values: Manifest) -> None:
    manifest = {**minimal(kind), "metadata": {"name": "defaults"}}
    assert cluster.create(manifest, patch, dry_run=False) is None
    found = cluster.read(manifest)["spec"]
    cluster.delete(manifest)
    for path, value in values.items():
        place = found
        for step in path.split("."):
            place = place[step]
        assert place == value, path
