# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes accepts our claim templates, expressions and quantities for devices."""

from __future__ import annotations

import copy
import itertools
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.filter import device_claim as public
from ansible_collections.nimops.nim.plugins.module_utils._base.quantity import canonical_quantity
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.applied import (
    workload_child,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.devices import (
    device_claim,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from kubernetes import client, config

NAMESPACE = "nimops-admission"
SERVED = "resource.k8s.io/v1"
ORDERED = ("Equal", "NotEqual", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual")
VALUES: dict[str, tuple[tuple[str, ...], tuple[Any, ...]]] = {
    "boolValue": (("Equal", "NotEqual"), (True, False)),
    "stringValue": (
        ("Equal", "NotEqual"),
        (
            *("", "Hopper", "NVIDIA H100 80GB HBM3", "x" * 64, 'a"b', "a\\b", "it's", "a\nb\tc\r"),
            *("\u00e9\u2028\U0001f600", "\x00\x1f\x7f", "${x} #: [!&*]", '" || true || "'),
        ),
    ),
    "intValue": (ORDERED, (0, 7, -1, 2**31 - 1, -(2**31))),
    "versionValue": (ORDERED, ("9.0.0", "0.0.1", "1.2.3-rc.1.x-y+build.01", "1.2.3--")),
}
QUANTITIES = (
    *("40Gi", "0.5Gi", "80G", 1, 85899345920, "1500m", "1e3", "5E", "0", "0Gi", "1n", "-1"),
    *("1.23456789012345Gi", "1023Ki", "1.5Ki", "1000", "1000m", "1e-3", "5e4", "1E3"),
)
KEYS = ("memory", "d.example/_x9", "gpu.nvidia.com/architecture")


def selecting(**selectors: Any) -> dict[str, Any]:
    return {"name": "gpu", **selectors}


DEVICES: dict[str, dict[str, Any]] = {
    "only the driver": selecting(driverName="mig.example"),
    **{
        f"{kind} {op} {value!r}": selecting(
            attributeSelectors=[{"key": "k", "op": op, "value": {kind: value}}]
        )
        for kind, (ops, values) in VALUES.items()
        for op, value in itertools.product(ops, values)
    },
    **{
        f"capacity {op} {value}": selecting(
            capacitySelectors=[{"key": "memory", "op": op, "value": value}]
        )
        for op, value in itertools.product(ORDERED, QUANTITIES)
    },
    **{
        f"key {key}": selecting(
            attributeSelectors=[{"key": key, "value": {"intValue": 1}}],
            capacitySelectors=[{"key": f"other.example/{key[-3:]}", "value": 1}],
        )
        for key in KEYS
    },
    "all selectors that there may be": selecting(
        attributeSelectors=[
            {"key": f"a{i}", "op": "LessThan", "value": {"versionValue": "1.2.3"}}
            for i in range(20)
        ],
        capacitySelectors=[
            {"key": f"c{i}", "op": "GreaterThan", "value": "1Gi"} for i in range(12)
        ],
    ),
    "verbatim, as many as there may be": selecting(
        celExpressions=[
            *("!device.driver.endsWith('x')", '"a: b # c" != device.driver'),
            "device.driver.startsWith('gpu')\n  || device.driver.endsWith('com')",
            'device.attributes["gpu.nvidia.com"].?type.orValue("gpu") == "gpu"',
            *("[1, 2].exists(x, x == 2)" for _ in range(28)),
        ]
    ),
}


@pytest.fixture(scope="module")
def api(cluster: Any) -> Iterator[client.ApiClient]:
    """A client of the same server, which the fixture has checked to be a test cluster."""
    with config.new_client_from_config() as found:
        groups = client.ApisApi(found).get_api_versions().groups
        if not any(it.group_version == SERVED for group in groups for it in group.versions):
            pytest.skip(f"the API server does not serve {SERVED}")
        yield found


def try_to_create(api: client.ApiClient, manifest: dict[str, Any]) -> str:
    """Why the API server refuses an object, empty if it does not."""
    group, _, version = manifest["apiVersion"].partition("/")
    plural = f"{manifest['kind'].lower()}s"
    try:
        client.CustomObjectsApi(api).create_namespaced_custom_object(
            *(group, version, NAMESPACE, plural, manifest),
            dry_run="All",
            field_validation="Strict",
        )
    except client.ApiException as error:
        return str(json.loads(error.body)["message"])
    return ""


def kubectl(verb: str, manifest: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["kubectl", verb, "--dry-run=server", "--output=json", *options, "--filename=-"],
        input=json.dumps(manifest),
        capture_output=True,
        text=True,
        check=False,
    )


def template(devices: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": SERVED,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": NAMESPACE},
        "spec": {"spec": {"devices": devices}},
    }


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES.keys())
def test_cel_expression_valid(api: client.ApiClient, device: dict[str, Any]) -> None:
    assert try_to_create(api, template(device_claim([device]))) == ""


def test_cel_expression_invalid(api: client.ApiClient) -> None:
    """Without this, the test above would prove nothing."""
    claim = device_claim([selecting(celExpressions=["device.nonsense(1)"])])
    assert "compilation failed" in try_to_create(api, template(claim))


def test_device_count_maximum(api: client.ApiClient) -> None:
    claim = device_claim([{"name": f"d{i}"} for i in range(32)])
    assert try_to_create(api, template(claim)) == ""


def test_filter_example(api: client.ApiClient) -> None:
    task = yaml.safe_load(public.EXAMPLES)[0]
    claim = public.FilterModule().filters()["device_claim"](task["vars"]["devices"])
    assert try_to_create(api, template(claim)) == ""


def test_quantity_format(cluster: Any) -> None:
    """Quantities in templates of the reference have that form."""
    given = [item for item in QUANTITIES if item != "-1"]
    volumes = [
        {"name": f"v{index}", "emptyDir": {"sizeLimit": item}} for index, item in enumerate(given)
    ]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": NAMESPACE},
        "spec": {"volumes": volumes, "containers": [{"name": "c", "image": "i"}]},
    }
    made = json.loads(kubectl("create", pod).stdout)
    written = {
        item["name"]: item["emptyDir"] for item in made["spec"]["volumes"] if "emptyDir" in item
    }
    for index, item in enumerate(given):
        assert canonical_quantity(item) == written[f"v{index}"]["sizeLimit"]


SERVICE: dict[str, Any] = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": NAMESPACE, "uid": "0"},
    "spec": {
        "image": {"repository": "registry.example/nim", "tag": "1"},
        "storage": {"emptyDir": {}},
        "labels": {"team": "a"},
        "sidecarContainers": [{"name": "s", "image": {"repository": "r.example/s", "tag": "1"}}],
        "draResources": [
            {
                "claimCreationSpec": {
                    "generateName": "gpus",
                    "devices": [{"name": "one"}, {"name": "two"}, {"name": "three"}],
                },
                "requests": ["two", "one"],
            },
            {"resourceClaimTemplateName": "t", "requests": ["any"]},
            {"resourceClaimName": "c"},
            {"resourceClaimTemplateName": "t"},
        ],
    },
}


def test_service_children(api: client.ApiClient) -> None:
    children = [child.manifest for child in desired(NIMServiceApp(SERVICE, Observed({}))).children]
    kinds = {
        item["kind"]: try_to_create(api, item) for item in children if "/" in item["apiVersion"]
    }
    assert kinds["ResourceClaimTemplate"] == kinds["Deployment"] == ""


def test_server_side_apply_unsupported_fields(api: client.ApiClient) -> None:
    """Two requests of one claim; if Kubernetes accepts them one day, remove `workload_child`."""
    (whole,) = [
        child.manifest
        for child in desired(NIMServiceApp(SERVICE, Observed({}))).children
        if child.manifest["kind"] == "Deployment"
    ]
    assert "duplicate entries for key" in kubectl("apply", whole, "--server-side").stderr
    assert kubectl("apply", workload_child(whole, None).to_apply, "--server-side").stderr == ""


SEVERAL: dict[str, Any] = SERVICE | {
    "spec": SERVICE["spec"]
    | {
        "multiNode": {"parallelism": {"pipeline": 2}, "computeDomain": {"create": True}},
        "draResources": [
            {"resourceClaimTemplateName": "t", "requests": ["gpu"]},
            {"resourceClaimName": "c"},
        ],
    }
}


@pytest.fixture
def groups(api: client.ApiClient) -> dict[str, Any]:
    """The LeaderWorkerSet of a service with devices and a ComputeDomain."""
    found = subprocess.run(["kubectl", "get", "leaderworkersets"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip("LeaderWorkerSet is not installed here")
    (made,) = [
        child.manifest
        for child in desired(NIMServiceApp(SEVERAL, Observed({}))).children
        if child.manifest["kind"] == "LeaderWorkerSet"
    ]
    return made


def test_group_claims(groups: dict[str, Any]) -> None:
    applied = kubectl("apply", groups, "--server-side")
    assert applied.stderr == ""
    assert has_wanted(json.loads(applied.stdout)["spec"], groups["spec"])


def test_group_claim_requests(api: client.ApiClient, groups: dict[str, Any]) -> None:
    """In any notation; if Kubernetes accepts them one day, remove `check_single_requests`."""
    assert try_to_create(api, groups) == ""
    twice = copy.deepcopy(groups)
    pod = twice["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    used = pod["containers"][0]["resources"]["claims"]
    used.append(used[0] | {"request": "other"})
    assert "Duplicate value" in try_to_create(api, twice)
    assert "duplicate entries for key" in kubectl("apply", twice, "--server-side").stderr
