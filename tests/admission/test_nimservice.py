# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals of NIMServices by the API server, and the fields that they name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

Manifest = dict[str, Any]
REQUIRED = "Required value"
EMPTY = "at least 1 chars"


def at(path: str, value: Any, text: str) -> tuple[Manifest, str, str]:
    """A refused value: patch, field and text of the refusal."""
    return {path: value}, path, text


SERVICE: Manifest = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm"},
    "spec": {
        "image": {"repository": "nvcr.io/nim/meta/llama-3.2-1b-instruct", "tag": "1.12.0"},
        "authSecret": "ngc-api-secret",
        "storage": {"emptyDir": {}},
        "expose": {"service": {"port": 8000}},
    },
}
IMAGE = {"repository": "registry.example/helper", "tag": "1"}
LONG = "a" * 254
EPP = "spec.expose.router.eppConfig"
PLUGINS = {"plugins": [{"type": "scorer"}], "schedulingProfiles": [{"name": "p", "plugins": []}]}
PICKER = {"containerSpec": {"name": "epp", "image": IMAGE}, "config": PLUGINS}
GATEWAY = {"name": "g", "namespace": "gw"}
SCALED = {"enabled": True, "hpa": {"maxReplicas": 2}}
AUTOSCALING = "scale.enabled", "scale (autoscaling)"
SCRAPED = {"enabled": True, "serviceMonitor": {"interval": "30s"}}
KNATIVE = "KServe runs in knative mode"
BACKEND = "spec.expose.router.gateway.backendRef"
DEVICES = "spec.draResources[0].claimCreationSpec.devices"
SELECTOR = f"{DEVICES}[0].attributeSelectors[0]"
CAPACITY = f"{DEVICES}[0].capacitySelectors[0]"
INGRESS = {"rules": [{"host": "a.example", "http": {"paths": []}}]}
ONE_STORAGE = "one of spec.storage.nimCache, spec.storage.pvc, spec.storage.emptyDir or spec.storage.hostPath must be defined"

ZERO = "must be at least 1 without a metric of type External or Object"


def router(**fields: Any) -> Manifest:
    return {"spec.expose.router": {"hostDomainName": "example.com", **fields}}


def picker(**fields: Any) -> Manifest:
    return router(eppConfig={k: v for k, v in {**PICKER, **fields}.items() if v is not None})


def backend(**fields: Any) -> Manifest:
    return router(gateway={**GATEWAY, "backendRef": {"name": "b", "port": 80, **fields}})


def dra(*entries: Manifest) -> Manifest:
    return {"spec.draResources": list(entries)}


def device(**fields: Any) -> Manifest:
    return dra({"claimCreationSpec": {"devices": [{"name": "gpu", **fields}]}})


def attributes(*selectors: Manifest) -> Manifest:
    return device(attributeSelectors=list(selectors))


def storage(**fields: Any) -> Manifest:
    return {"spec.storage": fields}


def kserve(mode: str | None = None, **fields: Any) -> Manifest:
    """A service on KServe, in the mode of an annotation; dots in field names are written as __."""
    annotations = {} if mode is None else {"serving.kserve.io/deploymentMode": mode}
    given = {f"spec.{path.replace('__', '.')}": value for path, value in fields.items()}
    return {"spec.inferencePlatform": "kserve", "spec.annotations": annotations, **given}


def scaled_by(*types: str) -> Manifest:
    """Scaling to zero by metrics of these types."""
    metrics = [{"type": name} for name in types]
    return {
        "spec.scale": {
            "enabled": True,
            "hpa": {"minReplicas": 0, "maxReplicas": 2, "metrics": metrics},
        },
    }


def pvc(**fields: Any) -> Manifest:
    return storage(
        pvc={"create": True, "size": "10Gi", "volumeAccessMode": "ReadWriteOnce", **fields}
    )


# Name: patch of SERVICE, field that the refusal must name, part of its text.
BAD: dict[str, tuple[Manifest, str, str]] = {
    # Image and containers
    "no spec": at("spec", None, REQUIRED),
    "no image": at("spec.image", None, REQUIRED),
    "no repository": at("spec.image.repository", None, REQUIRED),
    "empty repository": at("spec.image.repository", "", EMPTY),
    "no tag": at("spec.image.tag", None, REQUIRED),
    "empty tag": at("spec.image.tag", "", EMPTY),
    "tag as a number": at("spec.image.tag", 1.12, "must be of type string"),
    "init container without name": (
        {"spec.initContainers": [{"image": IMAGE}]},
        "spec.initContainers[0].name",
        REQUIRED,
    ),
    "init container without image": (
        {"spec.initContainers": [{"name": "a"}]},
        "spec.initContainers[0].image",
        REQUIRED,
    ),
    "init container with empty tag": (
        {"spec.initContainers": [{"name": "a", "image": {**IMAGE, "tag": ""}}]},
        "spec.initContainers[0].image.tag",
        EMPTY,
    ),
    "sidecar without image": (
        {"spec.sidecarContainers": [{"name": "a"}]},
        "spec.sidecarContainers[0].image",
        REQUIRED,
    ),
    "sidecar with empty repository": (
        {"spec.sidecarContainers": [{"name": "a", "image": {**IMAGE, "repository": ""}}]},
        "spec.sidecarContainers[0].image.repository",
        EMPTY,
    ),
    "env without name": ({"spec.env": [{"value": "a"}]}, "spec.env[0].name", REQUIRED),
    "limit that is not a quantity": (
        {"spec.resources": {"limits": {"memory": "lots"}}},
        "spec.resources.limits.memory",
        "should match",
    ),
    # Storage
    "access mode": (
        pvc(volumeAccessMode="ReadWriteTwice"),
        "spec.storage.pvc.volumeAccessMode",
        "must be ReadWriteOnce, ReadOnlyMany",
    ),
    "size in words": (pvc(size="ten"), "spec.storage.pvc.size", '"ten" must be a quantity'),
    "size with a space": (pvc(size="10 Gi"), "spec.storage.pvc.size", '"10 Gi" must be a quantity'),
    "size 0": (pvc(size="0"), "spec.storage.pvc.size", "must be a quantity greater than 0"),
    "negative size": (
        pvc(size="-1Gi"),
        "spec.storage.pvc.size",
        "must be a quantity greater than 0",
    ),
    "endless size": (pvc(size="1" * 65), "spec.storage.pvc.size", "Too long"),
    "negative shared memory": (
        storage(emptyDir={}, sharedMemorySizeLimit="-1Gi"),
        "spec.storage.sharedMemorySizeLimit",
        "must not be negative",
    ),
    "shared memory in words": (
        storage(emptyDir={}, sharedMemorySizeLimit="big"),
        "spec.storage.sharedMemorySizeLimit",
        "should match",
    ),
    "emptyDir limit in words": (
        storage(emptyDir={"sizeLimit": "big"}),
        "spec.storage.emptyDir.sizeLimit",
        "should match",
    ),
    # Ports
    "port 0": at("spec.expose.service.port", 0, "greater than or equal to 1"),
    "port 70000": at("spec.expose.service.port", 70000, "less than or equal to 65535"),
    "port as text": at("spec.expose.service.port", "http", "must be of type integer"),
    "grpcPort 0": at("spec.expose.service.grpcPort", 0, "greater than or equal to 1"),
    "grpcPort 65536": at("spec.expose.service.grpcPort", 65536, "less than or equal to 65535"),
    "metricsPort 0": at("spec.expose.service.metricsPort", 0, "greater than or equal to 1"),
    "metricsPort 65536": at(
        "spec.expose.service.metricsPort", 65536, "less than or equal to 65535"
    ),
    # Router
    "ingress and gateway": (
        router(ingress={"ingressClass": "nginx"}, gateway=GATEWAY),
        "spec.expose.router",
        "ingress and gateway cannot be specified together",
    ),
    "ingress without domain": (
        {"spec.expose.router": {"ingress": {"ingressClass": "nginx"}}},
        "spec.expose.router.hostDomainName",
        "is required with spec.expose.router.ingress",
    ),
    "gateway without domain": (
        {"spec.expose.router": {"gateway": GATEWAY}},
        "spec.expose.router.hostDomainName",
        "is required with spec.expose.router.ingress",
    ),
    "empty domain": (router(hostDomainName=""), "spec.expose.router.hostDomainName", EMPTY),
    "long domain": (
        router(hostDomainName="a" * 64),
        "spec.expose.router.hostDomainName",
        "Too long",
    ),
    "bad domain": (
        router(hostDomainName="Example_com"),
        "spec.expose.router.hostDomainName",
        "should match",
    ),
    "no ingress class": (router(ingress={}), "spec.expose.router.ingress.ingressClass", REQUIRED),
    "empty ingress class": (
        router(ingress={"ingressClass": ""}),
        "spec.expose.router.ingress.ingressClass",
        EMPTY,
    ),
    "gateway without name": (
        router(gateway={"namespace": "gw"}),
        "spec.expose.router.gateway.name",
        REQUIRED,
    ),
    "gateway with empty name": (
        router(gateway={**GATEWAY, "name": ""}),
        "spec.expose.router.gateway.name",
        EMPTY,
    ),
    "gateway without namespace": (
        router(gateway={"name": "g"}),
        "spec.expose.router.gateway.namespace",
        REQUIRED,
    ),
    "gateway with empty namespace": (
        router(gateway={**GATEWAY, "namespace": ""}),
        "spec.expose.router.gateway.namespace",
        EMPTY,
    ),
    "grpc routes without port": (
        router(gateway={**GATEWAY, "grpcRoutesEnabled": True}),
        "spec.expose.service.grpcPort",
        "must be set when spec.expose.router.gateway.grpcRoutesEnabled is true",
    ),
    "grpc routes without service": (
        {**router(gateway={**GATEWAY, "grpcRoutesEnabled": True}), "spec.expose.service": None},
        "spec.expose.service.grpcPort",
        "must be set when",
    ),
    "backend without name": (
        router(gateway={**GATEWAY, "backendRef": {"port": 80}}),
        f"{BACKEND}.name",
        REQUIRED,
    ),
    **{
        f"backend {name}": (backend(**{field: value}), f"{BACKEND}.{field}", text)
        for name, field, value, text in (
            ("with empty name", "name", "", EMPTY),
            ("with long name", "name", LONG, "Too long"),
            ("group", "group", "A.B", "should match"),
            ("kind", "kind", "In Pool", "should match"),
            ("empty kind", "kind", "", EMPTY),
            ("namespace", "namespace", "A", "should match"),
            ("port", "port", 0, "greater than or equal to 1"),
            ("weight", "weight", -1, "greater than or equal to 0"),
            ("great weight", "weight", 1000001, "less than or equal to 1000000"),
        )
    },
    "backend service without port": (
        router(gateway={**GATEWAY, "backendRef": {"name": "b"}}),
        f"{BACKEND}.port",
        "Must have port for Service reference",
    ),
    # Legacy ingress
    "both ways to an ingress": (
        {
            **router(ingress={"ingressClass": "nginx"}),
            "spec.expose.ingress": {"enabled": True, "spec": INGRESS},
        },
        "spec.expose.ingress",
        ".spec.expose.ingress is deprecated, and will be removed in a future release.",
    ),
    "legacy ingress without rules": (
        {"spec.expose.ingress": {"enabled": True}},
        "spec.expose.ingress.spec",
        "must have rules or a defaultBackend when spec.expose.ingress.enabled is true",
    ),
    "legacy ingress with empty rules": (
        {
            "spec.expose.ingress": {
                "enabled": True,
                "spec": {"ingressClassName": "nginx", "rules": []},
            }
        },
        "spec.expose.ingress.spec",
        "must have rules or a defaultBackend",
    ),
    # Endpoint picker
    "picker without container": (picker(containerSpec=None), f"{EPP}.containerSpec", REQUIRED),
    "picker container without name": (
        picker(containerSpec={"image": IMAGE}),
        f"{EPP}.containerSpec.name",
        REQUIRED,
    ),
    "picker with empty repository": (
        picker(containerSpec={"name": "epp", "image": {"repository": "", "tag": "1"}}),
        f"{EPP}.containerSpec.image.repository",
        EMPTY,
    ),
    "picker with two configs": (
        picker(configMapRef={"name": "c", "key": "k"}),
        EPP,
        "specify either configMapRef or config, not both",
    ),
    "picker without config": (
        picker(config=None),
        EPP,
        f"one of {EPP}.config or {EPP}.configMapRef must be set",
    ),
    "picker with a nameless ConfigMap": (
        picker(config=None, configMapRef={"key": "k"}),
        f"{EPP}.configMapRef.name",
        "must name a ConfigMap",
    ),
    "picker with a keyless ConfigMap": (
        picker(config=None, configMapRef={"name": "c"}),
        f"{EPP}.configMapRef.key",
        REQUIRED,
    ),
    "picker without plugins": (
        picker(config={"schedulingProfiles": []}),
        f"{EPP}.config.plugins",
        REQUIRED,
    ),
    "picker without profiles": (
        picker(config={"plugins": []}),
        f"{EPP}.config.schedulingProfiles",
        REQUIRED,
    ),
    "picker plugin without type": (
        picker(config={**PLUGINS, "plugins": [{"name": "a"}]}),
        f"{EPP}.config.plugins[0].type",
        REQUIRED,
    ),
    "picker profile without name": (
        picker(config={**PLUGINS, "schedulingProfiles": [{"plugins": []}]}),
        f"{EPP}.config.schedulingProfiles[0].name",
        REQUIRED,
    ),
    "picker profile plugin without ref": (
        picker(
            config={**PLUGINS, "schedulingProfiles": [{"name": "p", "plugins": [{"weight": 1}]}]}
        ),
        f"{EPP}.config.schedulingProfiles[0].plugins[0].pluginRef",
        REQUIRED,
    ),
    "picker data without sources": (
        picker(config={**PLUGINS, "data": {}}),
        f"{EPP}.config.data.sources",
        REQUIRED,
    ),
    "picker data source without extractors": (
        picker(config={**PLUGINS, "data": {"sources": [{"pluginRef": "a"}]}}),
        f"{EPP}.config.data.sources[0].extractors",
        REQUIRED,
    ),
    "picker port without number": (
        picker(ports=[{"name": "a"}]),
        f"{EPP}.ports[0].containerPort",
        REQUIRED,
    ),
    "picker ports of which one has no name": (
        picker(ports=[{"name": "a", "containerPort": 9002}, {"containerPort": 9003}]),
        f"{EPP}.ports",
        "must each have a name when there are several",
    ),
    "picker ports of which one has an empty name": (
        picker(ports=[{"name": "", "containerPort": 9002}, {"name": "b", "containerPort": 9003}]),
        f"{EPP}.ports",
        "must each have a name when there are several",
    ),
    # Metrics and scaling
    "scrape interval": (
        {"spec.metrics": {"serviceMonitor": {"interval": "1 minute"}}},
        "spec.metrics.serviceMonitor.interval",
        "should match",
    ),
    "scrape timeout": (
        {"spec.metrics": {"serviceMonitor": {"scrapeTimeout": "10"}}},
        "spec.metrics.serviceMonitor.scrapeTimeout",
        "should match",
    ),
    "negative replicas": at("spec.replicas", -1, "greater than or equal to 0"),
    "replicas and autoscaling": (
        {"spec.replicas": 2, "spec.scale": {"enabled": True, "hpa": {"maxReplicas": 3}}},
        "spec.replicas",
        "spec.replicas cannot be set when spec.scale.enabled is true",
    ),
    "autoscaling without hpa": (
        {"spec.scale": {"enabled": True}},
        "spec.scale.hpa",
        "must be defined if spec.scale.enabled is true",
    ),
    "hpa without maximum": (
        {"spec.scale": {"enabled": True, "hpa": {"minReplicas": 1}}},
        "spec.scale.hpa.maxReplicas",
        REQUIRED,
    ),
    "hpa with minimum 0": (
        {"spec.scale": {"hpa": {"minReplicas": 0, "maxReplicas": 1}}},
        "spec.scale.hpa.minReplicas",
        ZERO,
    ),
    "hpa with minimum 0 and metrics of pods": (
        scaled_by("Resource", "Pods"),
        "spec.scale.hpa.minReplicas",
        ZERO,
    ),
    "hpa with minimum below 0": (
        {"spec.scale": {"hpa": {"minReplicas": -1, "maxReplicas": 1}}},
        "spec.scale.hpa.minReplicas",
        "greater than or equal to 0",
    ),
    "hpa with six metrics": (
        scaled_by(*["External"] * 6),
        "spec.scale.hpa.metrics",
        "must have at most 5 items",
    ),
    "hpa of zeros": (
        {"spec.scale": {"enabled": True, "hpa": {"maxReplicas": 0}}},
        "spec.scale.hpa.maxReplicas",
        "must be at least spec.scale.hpa.minReplicas",
    ),
    "hpa with maximum below minimum": (
        {"spec.scale": {"enabled": True, "hpa": {"minReplicas": 3, "maxReplicas": 2}}},
        "spec.scale.hpa.maxReplicas",
        "must be at least spec.scale.hpa.minReplicas",
    ),
    "autoscaling and several nodes": (
        {
            "spec.multiNode": {"parallelism": {"pipeline": 2, "tensor": 8}},
            "spec.scale": {"enabled": True, "hpa": {"maxReplicas": 3}},
        },
        "spec.scale.enabled",
        "autoScaling must be nil or disabled when multiNode is set",
    ),
    # Several nodes, platform
    "unknown platform": at(
        "spec.inferencePlatform", "ray", 'supported values: "standalone", "kserve"'
    ),
    "empty platform": at("spec.inferencePlatform", "", "Unsupported value"),
    "mode of no name": (
        kserve("standard"),
        "spec.annotations",
        "deployment mode annotation found but value is invalid",
    ),
    "several requests on KServe": (
        kserve(draResources=[{"resourceClaimTemplateName": "a", "requests": ["a", "b"]}]),
        "spec.draResources",
        "several requests of one claim do not work with spec.inferencePlatform kserve",
    ),
    "no parallelism": ({"spec.multiNode": {}}, "spec.multiNode.parallelism", REQUIRED),
    "pipeline 0": (
        {"spec.multiNode": {"parallelism": {"pipeline": 0}}},
        "spec.multiNode.parallelism.pipeline",
        "greater than or equal to 1",
    ),
    "tensor 0": (
        {"spec.multiNode": {"parallelism": {"tensor": 0}}},
        "spec.multiNode.parallelism.tensor",
        "greater than or equal to 1",
    ),
    "backend of several nodes": (
        {"spec.multiNode": {"parallelism": {}, "backendType": "mpi"}},
        "spec.multiNode.backendType",
        'supported values: "lws"',
    ),
    "mpi and ray": at(
        "spec.multiNode",
        {"parallelism": {}, "mpi": {}, "ray": {}},
        "mpi and ray are mutually exclusive",
    ),
    "ray port 0": (
        {"spec.multiNode": {"parallelism": {}, "ray": {"rayPort": 0}}},
        "spec.multiNode.ray.rayPort",
        "greater than or equal to 1",
    ),
    "ray port 65536": (
        {"spec.multiNode": {"parallelism": {}, "ray": {"rayPort": 65536}}},
        "spec.multiNode.ray.rayPort",
        "less than or equal to 65535",
    ),
    "ray port that is the default port": (
        {
            "spec.multiNode": {"parallelism": {"pipeline": 2}, "ray": {"rayPort": 8000}},
            "spec.expose": None,
        },
        "spec.multiNode.ray.rayPort",
        "must differ from the ports of spec.expose.service",
    ),
    "ray port that is the gRPC port": (
        {
            "spec.multiNode": {"parallelism": {"pipeline": 2}, "ray": {}},
            "spec.expose.service.grpcPort": 6379,
        },
        "spec.multiNode.ray.rayPort",
        "must differ from the ports of spec.expose.service",
    ),
    "ray port that is the metrics port": (
        {
            "spec.multiNode": {"parallelism": {"pipeline": 2}, "ray": {"rayPort": 9000}},
            "spec.expose.service.metricsPort": 9000,
        },
        "spec.multiNode.ray.rayPort",
        "must differ from the ports of spec.expose.service",
    ),
    "compute domain of no kind": (
        {"spec.multiNode": {"parallelism": {}, "computeDomain": {}}},
        "spec.multiNode.computeDomain.name",
        "if create is true, name must not be set; otherwise name is required.",
    ),
    "compute domain with empty name": (
        {"spec.multiNode": {"parallelism": {}, "computeDomain": {"create": False, "name": ""}}},
        "spec.multiNode.computeDomain.name",
        "otherwise name is required.",
    ),
    "compute domain of both kinds": (
        {"spec.multiNode": {"parallelism": {}, "computeDomain": {"create": True, "name": "d"}}},
        "spec.multiNode.computeDomain.name",
        "if create is true, name must not be set",
    ),
    # Devices
    "claim of no source": (dra({}), "spec.draResources[0]", "exactly one of"),
    "claim of two sources": (
        dra({"resourceClaimName": "a", "resourceClaimTemplateName": "b"}),
        "spec.draResources[0]",
        "exactly one of",
    ),
    "claim with empty name": (
        dra({"resourceClaimName": ""}),
        "spec.draResources[0].resourceClaimName",
        EMPTY,
    ),
    "claim with long name": (
        dra({"resourceClaimName": LONG}),
        "spec.draResources[0].resourceClaimName",
        "Too long",
    ),
    "claim with bad name": (
        dra({"resourceClaimName": "_a"}),
        "spec.draResources[0].resourceClaimName",
        "should match",
    ),
    "template with bad name": (
        dra({"resourceClaimTemplateName": "A"}),
        "spec.draResources[0].resourceClaimTemplateName",
        "should match",
    ),
    "empty request": (
        dra({"resourceClaimName": "a", "requests": [""]}),
        "spec.draResources[0].requests[0]",
        EMPTY,
    ),
    "claim named twice": (
        dra(
            {"resourceClaimName": "a"},
            {"resourceClaimTemplateName": "a"},
            {"resourceClaimName": "a"},
        ),
        "spec.draResources",
        "the same resourceClaimName appears in more than one",
    ),
    "several requests on several nodes": (
        {
            "spec.multiNode": {"parallelism": {"pipeline": 2}},
            **dra({"resourceClaimName": "a", "requests": ["a", "b"]}),
        },
        "spec.draResources",
        "several requests of one claim do not work with spec.multiNode",
    ),
    "too many claims": (
        dra(*({"resourceClaimTemplateName": "a"} for _ in range(33))),
        "spec.draResources",
        "must have at most 32 items",
    ),
    "generated name empty": (
        dra({"claimCreationSpec": {"generateName": "", "devices": [{"name": "gpu"}]}}),
        "spec.draResources[0].claimCreationSpec.generateName",
        EMPTY,
    ),
    "generated name long": (
        dra({"claimCreationSpec": {"generateName": "a" * 17, "devices": [{"name": "gpu"}]}}),
        "spec.draResources[0].claimCreationSpec.generateName",
        "Too long",
    ),
    **{
        f"generated name {name!r}": (
            dra({"claimCreationSpec": {"generateName": name, "devices": [{"name": "gpu"}]}}),
            "spec.draResources[0].claimCreationSpec.generateName",
            "should match",
        )
        for name in ("-gpu", "GPU", "a_b", "a.", "a-.b", "a b")
    },
    "claim without devices": (dra({"claimCreationSpec": {}}), DEVICES, REQUIRED),
    "claim with no devices": (
        dra({"claimCreationSpec": {"devices": []}}),
        DEVICES,
        "at least 1 items",
    ),
    "claim with too many devices": (
        dra({"claimCreationSpec": {"devices": [{"name": f"d{i}"} for i in range(33)]}}),
        DEVICES,
        "must have at most 32 items",
    ),
    "device without name": (
        dra({"claimCreationSpec": {"devices": [{}]}}),
        f"{DEVICES}[0].name",
        REQUIRED,
    ),
    "device with a long name": (device(name="a" * 64), f"{DEVICES}[0].name", "Too long"),
    "device with a name in parts": (device(name="a.b"), f"{DEVICES}[0].name", "should match"),
    "device class that is not a name": (
        device(deviceClassName="gpu.nvidia.com/x"),
        f"{DEVICES}[0].deviceClassName",
        "should match",
    ),
    "too many requests": (
        dra({"resourceClaimName": "a", "requests": [f"r{i}" for i in range(33)]}),
        "spec.draResources[0].requests",
        "must have at most 32 items",
    ),
    "device with empty name": (device(name=""), f"{DEVICES}[0].name", EMPTY),
    "device with bad name": (device(name="GPU"), f"{DEVICES}[0].name", "should match"),
    "no device": (device(count=0), f"{DEVICES}[0].count", "greater than or equal to 1"),
    "empty device class": (device(deviceClassName=""), f"{DEVICES}[0].deviceClassName", EMPTY),
    "empty driver": (device(driverName=""), f"{DEVICES}[0].driverName", EMPTY),
    "bad driver": (device(driverName="/gpu"), f"{DEVICES}[0].driverName", "should match"),
    "long driver": (device(driverName=LONG), f"{DEVICES}[0].driverName", "Too long"),
    "selector without key": (attributes({"value": {"intValue": 1}}), f"{SELECTOR}.key", REQUIRED),
    **{
        f"selector with key {key!r}": (
            attributes({"key": key, "value": {"intValue": 1}}),
            f"{SELECTOR}.key",
            "should match",
        )
        for key in (
            *("", "product-name", "1st", "a.b", "d.example/", "/k", "a/b/c", "D.example/k", "k\n"),
            'x"] == 1 || device.attributes["y"].k',
        )
    },
    "capacity with key of several parts": (
        device(capacitySelectors=[{"key": "memory.total", "value": "1Gi"}]),
        f"{CAPACITY}.key",
        "should match",
    ),
    "selector with long key": (
        attributes({"key": "k" * 65, "value": {"intValue": 1}}),
        f"{SELECTOR}.key",
        "Too long",
    ),
    "selector with unknown operator": (
        attributes({"key": "k", "op": "In", "value": {"intValue": 1}}),
        f"{SELECTOR}.op",
        'supported values: "Equal", "NotEqual"',
    ),
    "selector with empty operator": (
        attributes({"key": "k", "op": "", "value": {"intValue": 1}}),
        f"{SELECTOR}.op",
        "Unsupported value",
    ),
    "selector without value": (attributes({"key": "k"}), f"{SELECTOR}.value", REQUIRED),
    "selector with long string": (
        attributes({"key": "k", "value": {"stringValue": "v" * 65}}),
        f"{SELECTOR}.value.stringValue",
        "Too long",
    ),
    "selector with long version": (
        attributes({"key": "k", "value": {"versionValue": "1.2.3-" + "a" * 60}}),
        f"{SELECTOR}.value.versionValue",
        "Too long",
    ),
    "capacity without key": (
        device(capacitySelectors=[{"value": "1Gi"}]),
        f"{CAPACITY}.key",
        REQUIRED,
    ),
    "capacity without value": (
        device(capacitySelectors=[{"key": "k"}]),
        f"{CAPACITY}.value",
        REQUIRED,
    ),
    "capacity in words": (
        device(capacitySelectors=[{"key": "k", "value": "big"}]),
        f"{CAPACITY}.value",
        "should match",
    ),
    "capacity with unknown operator": (
        device(capacitySelectors=[{"key": "k", "value": "1Gi", "op": "In"}]),
        f"{CAPACITY}.op",
        "Unsupported value",
    ),
    "too many attribute selectors": (
        attributes(*({"key": f"k{i}", "value": {"intValue": 1}} for i in range(21))),
        f"{DEVICES}[0].attributeSelectors",
        "must have at most 20 items",
    ),
    "too many capacity selectors": (
        device(capacitySelectors=[{"key": f"k{i}", "value": "1Gi"} for i in range(13)]),
        f"{DEVICES}[0].capacitySelectors",
        "must have at most 12 items",
    ),
    "too many expressions": (
        device(celExpressions=["true"] * 33),
        f"{DEVICES}[0].celExpressions",
        "must have at most 32 items",
    ),
    "expressions beside selectors": (
        device(celExpressions=["true"], capacitySelectors=[{"key": "k", "value": "1Gi"}]),
        f"{DEVICES}[0].celExpressions",
        "celExpressions must not be set if attributeSelectors or capacitySelectors are set",
    ),
}

MANY_SELECTORS = {
    "attributeSelectors": [
        {"key": f"a{i}", "value": {"versionValue": "1.2.3-rc.1+build"}} for i in range(20)
    ],
    "capacitySelectors": [{"key": f"c{i}", "op": "GreaterThan", "value": 1} for i in range(12)],
}

# Valid resources, including everything that the reference operator writes back into a spec (O-02).
GOOD: dict[str, Manifest] = {
    "minimal": {},
    "no expose": {"spec.expose": None},
    "scaling to zero by an external metric": scaled_by("Resource", "External"),
    "scaling to zero by the metric of an object": scaled_by("Object"),
    "five metrics": scaled_by(*["External"] * 5),
    "image by digest": {"spec.image": {"repository": "r.example/nim@sha256", "tag": "0" * 64}},
    "cache and empty others": storage(nimCache={"name": "c", "profile": ""}, pvc={}, hostPath=""),
    "cache and claim that is not created": storage(nimCache={"name": "c"}, pvc={"create": False}),
    "cache and profile": storage(nimCache={"name": "c", "profile": "tensorrt_llm"}),
    "created claim": pvc(storageClass=""),
    "created claim, size without unit": pvc(size="5e9"),
    "created claim, fractional size": pvc(size="0.5Ti"),
    "created claim, size and mode left open": storage(pvc={"create": True, "name": "existing"}),
    "existing claim": storage(pvc={"name": "p"}),
    "existing claim, nonsense size": storage(pvc={"name": "p", "size": "ten"}),
    "existing claim in a folder": storage(pvc={"name": "p", "subPath": "models", "create": False}),
    "hostPath": storage(hostPath="/models"),
    "emptyDir with limit": storage(emptyDir={"sizeLimit": 10737418240}, readOnly=True),
    "shared memory": storage(emptyDir={}, sharedMemorySizeLimit="8Gi"),
    "shared memory in bytes": storage(emptyDir={}, sharedMemorySizeLimit=8589934592),
    "empty objects of the reference": {
        "spec.expose.ingress": {"spec": {}},
        "spec.expose.router": {},
        "spec.livenessProbe": {},
        "spec.metrics": {"serviceMonitor": {}},
        "spec.scale": {"hpa": {"maxReplicas": 0, "minReplicas": 1}},
        "spec.storage": {"emptyDir": {}, "nimCache": {}, "pvc": {}},
    },
    "no claims in resources": {"spec.resources": {"claims": [], "limits": {"nvidia.com/gpu": 1}}},
    "proxy without scheme": {
        "spec.proxy": {"httpProxy": "proxy:3128", "noProxy": "*.example, ::1"}
    },
    "replicas 0": {"spec.replicas": 0},
    "autoscaling": {"spec.scale": {"enabled": True, "hpa": {"maxReplicas": 1}}},
    "autoscaling on KServe without maximum": {
        "spec.inferencePlatform": "kserve",
        "spec.scale": {"enabled": True, "hpa": {"maxReplicas": 0}},
    },
    "replicas with autoscaling off": {"spec.replicas": 2, "spec.scale": {"enabled": False}},
    "metrics with one label": {
        "spec.metrics": {"enabled": True, "serviceMonitor": {"additionalLabels": {"release": "p"}}}
    },
    "metrics with an interval": {
        "spec.metrics": {"enabled": True, "serviceMonitor": {"interval": "1m30s"}}
    },
    "router ingress": router(ingress={"ingressClass": "nginx", "tlsSecretName": "tls"}),
    "gateway with grpc": {
        **router(gateway={**GATEWAY, "grpcRoutesEnabled": True, "httpRoutesEnabled": False}),
        "spec.expose.service": {"port": 8000, "grpcPort": 50051},
    },
    "pool as backend": router(
        gateway={
            **GATEWAY,
            "backendRef": {
                "group": "inference.networking.k8s.io",
                "kind": "InferencePool",
                "name": "p",
            },
        }
    ),
    "picker alone": {"spec.expose.router": {"eppConfig": PICKER}},
    "picker with an empty tag": picker(
        containerSpec={"name": "epp", "image": {"repository": "r.example/epp", "tag": ""}}
    ),
    "picker with structured parameters": picker(
        config={
            **PLUGINS,
            "plugins": [{"type": "scorer", "parameters": {"weights": [1, 2], "deep": {"a": True}}}],
        }
    ),
    "picker with parameters of the reference": picker(
        config={**PLUGINS, "plugins": [{"type": "scorer", "parameters": "e30="}]}
    ),
    "picker with unknown parts": picker(config={**PLUGINS, "flowControl": {"maxBytes": 1}}),
    "picker with one port": picker(ports=[{"containerPort": 9002}]),
    "picker with ports": picker(
        ports=[
            {"name": "grpc-ext-proc", "containerPort": 9002},
            {"name": "grpc-health", "containerPort": 9003, "protocol": "TCP"},
        ]
    ),
    "picker by ConfigMap": picker(config=None, configMapRef={"name": "c", "key": "k"}),
    "legacy ingress": {"spec.expose.ingress": {"enabled": True, "spec": INGRESS}},
    "KServe, mode unset": kserve(),
    "KServe, mode empty": kserve(""),
    "KServe with all that Knative does not take": {
        **kserve(
            "RawDeployment",
            scale={"enabled": True, "hpa": {"maxReplicas": 2}},
            metrics={"enabled": True, "serviceMonitor": {"interval": "30s"}},
        ),
        **router(gateway=GATEWAY),
    },
    "ModelMesh is not Knative": kserve("ModelMesh", expose__ingress={"enabled": True}),
    "Knative with all of it switched off": kserve(
        "Knative", scale={"enabled": False}, metrics={"enabled": False}, expose__router={}
    ),
    "Knative's annotation on the standalone platform": {
        **kserve("Knative", scale={"enabled": True, "hpa": {"maxReplicas": 2}}),
        "spec.inferencePlatform": "standalone",
    },
    "several requests of which one counts": kserve(
        draResources=[{"resourceClaimTemplateName": "a", "requests": ["a", "a"]}]
    ),
    "legacy ingress to a default": {
        "spec.expose.ingress": {
            "enabled": True,
            "spec": {"defaultBackend": {"service": {"name": "llm", "port": {"number": 8000}}}},
        }
    },
    "legacy ingress as visibility on KServe": {
        "spec.inferencePlatform": "kserve",
        "spec.expose.ingress": {"enabled": True},
    },
    "load balancer beside a router": {
        **router(ingress={"ingressClass": "nginx"}),
        "spec.expose.service": {"type": "LoadBalancer"},
    },
    "no secret": {"spec.authSecret": None},
    "several nodes": {
        "spec.multiNode": {
            "parallelism": {"pipeline": 2, "tensor": 8},
            "mpi": {"mpiStartTimeout": 6000},
        }
    },
    "several nodes by ray": {
        "spec.multiNode": {"parallelism": {}, "ray": {}, "computeDomain": {"create": True}}
    },
    "a ray port that one node does not need": {
        "spec.multiNode": {"parallelism": {"pipeline": 1}, "ray": {"rayPort": 8000}}
    },
    "claims by template for several replicas": {
        "spec.replicas": 3,
        **dra(
            {"resourceClaimTemplateName": "a"},
            {"resourceClaimTemplateName": "a", "requests": ["gpu"]},
        ),
    },
    "one request of each claim on several nodes": {
        "spec.multiNode": {"parallelism": {"pipeline": 2}},
        **dra(
            {"resourceClaimTemplateName": "a", "requests": ["gpu"]},
            {"resourceClaimTemplateName": "a", "requests": ["nic", "nic"]},
            {"resourceClaimTemplateName": "b"},
        ),
    },
    "several requests where all is on one node": {
        "spec.multiNode": {"parallelism": {"pipeline": 1}},
        **dra({"resourceClaimTemplateName": "a", "requests": ["a", "b"]}),
    },
    "one claim for one replica": {"spec.replicas": 1, **dra({"resourceClaimName": "a"})},
    "same key of two domains": attributes(
        {"key": "k", "value": {"intValue": 1}}, {"key": "other.example/k", "value": {"intValue": 1}}
    ),
    "operators that fit": attributes(
        {"key": "a", "op": "NotEqual", "value": {"boolValue": False}},
        {"key": "b", "op": "LessThanOrEqual", "value": {"intValue": -1}},
        {"key": "c", "op": "GreaterThan", "value": {"versionValue": "0.0.1"}},
    ),
    "expressions": device(celExpressions=["device.driver != ''"] * 32, count=8),
    "keys with and without a domain": attributes(
        {"key": "productName", "value": {"stringValue": "NVIDIA H100 80GB HBM3"}},
        {"key": "gpu.nvidia.com/architecture", "value": {"stringValue": "Hopper"}},
        {"key": "k8s.io/_pcie_root", "value": {"stringValue": "pci0000:00"}},
    ),
    "some requests of created and of existing claims": dra(
        {
            "claimCreationSpec": {
                "generateName": "big-",
                "devices": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
            },
            "requests": ["c", "a"],
        },
        {"resourceClaimTemplateName": "t", "requests": ["any"]},
    ),
    "as many devices as there may be": dra(
        *[
            {
                "claimCreationSpec": {
                    "devices": [{"name": f"d{i}", **MANY_SELECTORS} for i in range(4)]
                }
            }
        ]
        * 2,
        {"claimCreationSpec": {"devices": [{"name": f"d{i}"} for i in range(32)]}},
        *({"resourceClaimName": f"c{i}"} for i in range(29)),
    ),
    # Rejected only by the optional webhook of the reference.
    "autoscaling on Knative": kserve("Knative", scale=SCALED),
    "legacy ingress on Knative": kserve("Serverless", expose__ingress={"enabled": True}),
    "ingress on Knative": {**kserve("Knative"), **router(ingress={"ingressClass": "nginx"})},
    "gateway on Knative": {**kserve("Knative"), **router(gateway=GATEWAY)},
    "metrics on Knative": kserve("Knative", metrics=SCRAPED),
    "incomplete version": attributes({"key": "k", "value": {"versionValue": "1.2"}}),
    "claims in resources": {"spec.resources": {"claims": [{"name": "gpu"}]}},
    "no storage": {"spec.storage": None},
    "empty storage": storage(),
    "storage of empty parts": storage(nimCache={"name": "", "profile": ""}, pvc={}, hostPath=""),
    "only shared memory": storage(sharedMemorySizeLimit="1Gi"),
    "pvc that says only create false": storage(pvc={"create": False}),
    "cache and claim": storage(nimCache={"name": "c"}, pvc={"name": "p"}),
    "cache and emptyDir": storage(nimCache={"name": "c"}, emptyDir={}),
    "claim and hostPath": storage(pvc={"name": "p"}, hostPath="/models"),
    "emptyDir and hostPath": storage(emptyDir={}, hostPath="/models"),
    "profile without cache": storage(nimCache={"profile": "p"}),
    "claim without name": storage(pvc={"size": "10Gi"}),
    "claim without name, create false": storage(pvc={"create": False, "subPath": "models"}),
    "shared memory 0": storage(emptyDir={}, sharedMemorySizeLimit=0),
    "shared memory 0 with unit": storage(emptyDir={}, sharedMemorySizeLimit="0Gi"),
    "picker on KServe": {"spec.inferencePlatform": "kserve", **picker()},
    "several nodes on KServe": {
        "spec.inferencePlatform": "kserve",
        "spec.multiNode": {"parallelism": {"pipeline": 2}},
    },
    "claim for several replicas": {"spec.replicas": 2, **dra({"resourceClaimName": "a"})},
    "claim and autoscaling": {
        "spec.scale": {"enabled": True, "hpa": {"maxReplicas": 2}},
        **dra({"resourceClaimName": "a"}),
    },
    "devices of one name": dra(
        {"claimCreationSpec": {"devices": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}}
    ),
    "request that is not a device": dra(
        {"claimCreationSpec": {"devices": [{"name": "gpu"}]}, "requests": ["gpu", "gpus"]}
    ),
    "selector with empty value": attributes({"key": "k", "value": {}}),
    "selector with two values": attributes(
        {"key": "k", "value": {"intValue": 1, "stringValue": "1"}}
    ),
    "greater than a truth value": attributes(
        {"key": "k", "op": "GreaterThan", "value": {"boolValue": True}}
    ),
    "less than a string": attributes({"key": "k", "op": "LessThan", "value": {"stringValue": "a"}}),
    "key selected twice": attributes(
        {"key": "k", "value": {"intValue": 1}},
        {"key": "k", "op": "NotEqual", "value": {"intValue": 2}},
    ),
    "key selected twice, once with its domain": attributes(
        {"key": "k", "value": {"intValue": 1}},
        {"key": "gpu.nvidia.com/k", "value": {"intValue": 2}},
    ),
    "key selected as attribute and capacity": device(
        driverName="d.example",
        attributeSelectors=[{"key": "d.example/memory", "value": {"intValue": 1}}],
        capacitySelectors=[{"key": "memory", "value": "1Gi"}],
    ),
}


@pytest.mark.parametrize(("patch", "field", "text"), BAD.values(), ids=BAD.keys())
def test_nimservice_invalid(cluster: Any, patch: Manifest, field: str, text: str) -> None:
    refusal = cluster.create(SERVICE, patch)
    assert refusal, "accepted"
    assert refusal.names(field, text), refusal
    assert field in refusal.message


@pytest.mark.parametrize("patch", GOOD.values(), ids=GOOD.keys())
def test_nimservice_valid(cluster: Any, patch: Manifest) -> None:
    assert cluster.create(SERVICE, patch) is None


def pipeline_of(cluster: Any, patch: Manifest) -> Manifest:
    """A NIMPipeline of the patched service."""
    service = cluster.patched(SERVICE, patch)
    entry = {"name": "llm", "enabled": True, "spec": service.get("spec")}
    return {**SERVICE, "kind": "NIMPipeline", "spec": {"services": [entry]}}


@pytest.mark.parametrize(
    ("patch", "field", "text"),
    [case for case in BAD.values() if case[1] != "spec"],
    ids=[name for name, case in BAD.items() if case[1] != "spec"],
)
def test_nimservice_invalid_in_pipeline(
    cluster: Any, patch: Manifest, field: str, text: str
) -> None:
    """The same spec gets the same answer within a NIMPipeline."""
    refusal = cluster.create(pipeline_of(cluster, patch))
    assert refusal, "accepted"
    assert refusal.names(field.replace("spec", "spec.services[0].spec", 1), text), refusal


@pytest.mark.parametrize("patch", GOOD.values(), ids=GOOD.keys())
def test_nimservice_valid_in_pipeline(cluster: Any, patch: Manifest) -> None:
    assert cluster.create(pipeline_of(cluster, patch)) is None


def test_nimservice_unknown_field(cluster: Any) -> None:
    refusal = cluster.create(SERVICE, {"spec.expose.service.ports": [8000]})
    assert 'unknown field "spec.expose.service.ports"' in refusal.message


def test_nimservice_plugin_parameters(cluster: Any) -> None:
    parameters = {"weights": [1, 2], "deep": {"a": True}}
    config = {**PLUGINS, "plugins": [{"type": "scorer", "parameters": parameters}]}
    manifest = {**SERVICE, "metadata": {"name": "picker"}}
    assert cluster.create(manifest, picker(config=config), dry_run=False) is None
    router = cluster.read(manifest)["spec"]["expose"]["router"]
    assert router["eppConfig"]["config"]["plugins"][0]["parameters"] == parameters


TEMPLATE = {"resourceClaimTemplateName": "a"}
PVC_IMMUTABLE = "is immutable once it is created with spec.storage.pvc.create = true"
CREATED: Manifest = {
    **SERVICE,
    "metadata": {"name": "created", "finalizers": ["nimops.example/test"]},
    "spec": {
        **SERVICE["spec"],
        "storage": {
            "pvc": {
                "create": True,
                "size": "10Gi",
                "volumeAccessMode": "ReadWriteOnce",
                "storageClass": "",
                "annotations": {"a": "b"},
            }
        },
        "multiNode": {"parallelism": {"pipeline": 2, "tensor": 8}},
        "draResources": [TEMPLATE],
    },
}
EXISTING: Manifest = {
    **SERVICE,
    "metadata": {"name": "existing"},
    "spec": {**SERVICE["spec"], "storage": {"pvc": {"name": "p", "create": False}}},
}

NO_CLAIM_YET: Manifest = {
    **SERVICE,
    "metadata": {"name": "no-claim-yet"},
    "spec": {**SERVICE["spec"], "storage": {"pvc": {"create": True, "size": "10Gi"}}},
}
"""S2: without an access mode, which Kubernetes needs, no claim can exist."""

BAD_UPDATES: dict[str, tuple[Manifest, Manifest, str, str]] = {
    **{
        f"{name} of a created claim": (
            CREATED,
            *at(f"spec.storage.pvc.{field}", value, PVC_IMMUTABLE),
        )
        for name, field, value in (
            ("size", "size", "20Gi"),
            ("name", "name", "p"),
            ("class", "storageClass", "fast"),
            ("mode", "volumeAccessMode", "ReadWriteMany"),
            ("folder", "subPath", "m"),
            ("annotations", "annotations", None),
        )
    },
    "creation of a created claim": (
        CREATED,
        {"spec.storage.pvc.create": False, "spec.storage.pvc.name": "p"},
        "spec.storage.pvc.create",
        PVC_IMMUTABLE,
    ),
    "created claim to emptyDir": (
        CREATED,
        {"spec.storage": {"emptyDir": {}}},
        "spec.storage.pvc.create",
        PVC_IMMUTABLE,
    ),
    "other devices": (
        CREATED,
        *at(
            "spec.draResources",
            [{"resourceClaimTemplateName": "b"}],
            "spec.draResources is immutable",
        ),
    ),
    "more devices": (
        CREATED,
        *at("spec.draResources", [TEMPLATE, TEMPLATE], "spec.draResources is immutable"),
    ),
    "no devices any more": (
        CREATED,
        *at("spec.draResources", None, "spec.draResources is immutable"),
    ),
    "devices where there were none": (
        EXISTING,
        *at("spec.draResources", [TEMPLATE], "spec.draResources is immutable"),
    ),
    "good that turns bad": (EXISTING, *at("spec.image.tag", "", EMPTY)),
}
GOOD_UPDATES: dict[str, tuple[Manifest, Manifest]] = {
    "nothing": (CREATED, {}),
    "another image": (CREATED, {"spec.image.tag": "1.13.0"}),
    "replicas": (CREATED, {"spec.replicas": 2}),
    "zero values that the reference drops": (CREATED, {"spec.storage.pvc.storageClass": None}),
    "zero values that the reference adds": (
        CREATED,
        {"spec.storage.nimCache": {}, "spec.storage.pvc.name": "", "spec.storage.pvc.subPath": ""},
    ),
    "another existing claim": (EXISTING, {"spec.storage.pvc.name": "q"}),
    "claim to cache": (EXISTING, {"spec.storage": {"nimCache": {"name": "c"}}}),
    "claim to created claim": (EXISTING, pvc()),
    **{
        f"{field} of a claim to create": (NO_CLAIM_YET, {f"spec.storage.pvc.{field}": value})
        for field, value in (
            *(("volumeAccessMode", "ReadWriteOnce"), ("size", "20Gi"), ("storageClass", "fast")),
            *(("name", "p"), ("subPath", "m"), ("annotations", {"a": "b"})),
        )
    },
    "no claim to create": (NO_CLAIM_YET, {"spec.storage": {"emptyDir": {}}}),
    "to KServe": (EXISTING, {"spec.inferencePlatform": "kserve"}),
    "several nodes to one": (CREATED, {"spec.multiNode": None}),
    "one node to several": (EXISTING, {"spec.multiNode": {"parallelism": {"pipeline": 2}}}),
    "more nodes": (CREATED, {"spec.multiNode.parallelism.pipeline": 3}),
}


@pytest.fixture(scope="module")
def services(cluster: Any) -> Iterator[Any]:
    """Services of which one has created a claim, according to its status."""
    for manifest in (CREATED, EXISTING, NO_CLAIM_YET):
        assert cluster.create(manifest, dry_run=False) is None
    assert cluster.patch_status(CREATED, {"onDeletion": "the claim is also deleted"}) is None
    yield cluster
    cluster.remove_all()


@pytest.mark.parametrize(
    ("manifest", "patch", "field", "text"), BAD_UPDATES.values(), ids=BAD_UPDATES.keys()
)
def test_nimservice_update_invalid(
    services: Any, manifest: Manifest, patch: Manifest, field: str, text: str
) -> None:
    refusal = services.replace(manifest, patch)
    assert refusal, "accepted"
    assert refusal.names(field, text), refusal


@pytest.mark.parametrize(("manifest", "patch"), GOOD_UPDATES.values(), ids=GOOD_UPDATES.keys())
def test_nimservice_update_valid(services: Any, manifest: Manifest, patch: Manifest) -> None:
    assert services.replace(manifest, patch) is None


def test_nimservice_deletion_when_immutable(services: Any) -> None:
    manifest = {**CREATED, "metadata": {"name": "going", "finalizers": ["nimops.example/test"]}}
    assert services.create(manifest, dry_run=False) is None
    services.delete(manifest)
    assert services.read(manifest)["metadata"]["deletionTimestamp"]
    assert services.patch_metadata(manifest, {"finalizers": None}) is None
    assert services.is_gone(manifest)
