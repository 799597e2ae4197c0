# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children besides the Job: rights, probe pod, manifest; and whose a live object is."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    parse_manifest,
    read_log,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.standing import standing_of
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.config_map import (
    build_config_map,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.probe_pod import build_probe_pod
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.rbac import build_rbac

Json = dict[str, t.Any]


def role_granting(*names: str) -> Json:
    rule = {"resources": ["securitycontextconstraints"], "resourceNames": list(names)}
    return {"rules": [rule]}


@pytest.mark.parametrize(
    ("proxy", "live", "granted"),
    [
        pytest.param(None, None, ["nonroot"], id="plain"),
        pytest.param({}, None, ["anyuid", "nonroot"], id="proxy"),
        pytest.param(None, role_granting("anyuid"), ["anyuid", "nonroot"], id="another-with-proxy"),
        pytest.param({}, role_granting("nonroot"), ["anyuid", "nonroot"], id="another-without"),
        pytest.param(None, role_granting("privileged"), ["nonroot"], id="hand-edit"),
        pytest.param(None, {"rules": None}, ["nonroot"], id="emptied"),
    ],
)
def test_role_does_not_take_from_other_caches(
    cache: t.Callable[..., Json], proxy: Json | None, live: Json | None, granted: list[str]
) -> None:
    cr = cache() if proxy is None else cache(proxy=proxy)
    account, role, binding = build_rbac(cr, live)
    assert [rule["resourceNames"] for rule in role.manifest["rules"]] == [granted]
    assert (account.create_only, role.create_only, binding.create_only) == (True, False, False)
    assert all(child.shared for child in (account, role, binding))
    assert all("ownerReferences" not in child.manifest["metadata"] for child in (account, role))


def test_probe_pod(cache: t.Callable[..., Json]) -> None:
    pod = build_probe_pod(cache(runtimeClassName="nvidia"), "OpenShift")
    assert pod["metadata"]["annotations"] == {"openshift.io/required-scc": "nonroot"}
    assert pod["metadata"]["labels"]["app.kubernetes.io/name"] == "llama"
    assert pod["metadata"]["ownerReferences"][0]["uid"] == "u-cache"
    (container,) = pod["spec"]["containers"]
    assert set(container) == {"name", "image", "command", "resources", "securityContext"}
    assert container["resources"]["limits"] == {"cpu": "0", "memory": "0"}
    assert set(pod["spec"]) == {
        "containers", "imagePullSecrets", "nodeSelector", "runtimeClassName", "securityContext",
        "serviceAccountName",
    }  # fmt: skip


def test_probe_pod_on_tkgs_has_seccomp_on_the_container(cache: t.Callable[..., Json]) -> None:
    spec = build_probe_pod(cache(), "TKGS")["spec"]
    assert "seccompProfile" in spec["containers"][0]["securityContext"]
    assert "seccompProfile" not in spec["securityContext"]


@pytest.mark.parametrize(
    ("files", "tool", "text", "has_puller"),
    [
        ({"opt": "a: {model: 1}", "etc": "b: {}"}, True, "a: {model: 1}", True),
        ({"etc": "b: {}"}, True, "b: {}", True),
        ({}, True, "", True),
        ({}, False, "", False),
    ],
    ids=["first-place", "second-place", "no-manifest", "plain-image"],
)
def test_probe_script(
    cache: t.Callable[..., Json], tmp_path: Path, files: dict[str, str], tool: bool, text: str,
    has_puller: bool,
) -> None:  # fmt: skip
    """The shell code, run with its paths moved and without its last line, the endless sleep."""
    script = build_probe_pod(cache(), "Kubernetes")["spec"]["containers"][0]["command"][2]
    script = script.replace("/opt/nim/etc/default", str(tmp_path / "opt"))
    script = script.replace("/etc/nim/config", str(tmp_path / "etc"))
    for folder, content in files.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "model_manifest.yaml").write_text(content)
    (tmp_path / "bin").mkdir()
    if tool:
        (tmp_path / "bin" / "download-to-cache").touch(0o755)
    body = script[: script.index("trap")]
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    log = subprocess.run(
        ["/bin/sh", "-c", body], env={"PATH": path}, capture_output=True, text=True, check=True
    ).stdout
    reading = read_log(log)
    assert (reading.complete, reading.text, reading.has_puller) == (True, text, has_puller)


def test_config_map(cache: t.Callable[..., Json]) -> None:
    made = build_config_map(cache(), parse_manifest("a: {model: m, tags: {tp: '1'}}"))
    assert made["data"] == {"model_manifest.yaml": "a:\n  model: m\n  tags:\n    tp: '1'\n"}
    assert made["metadata"]["name"] == "llama-manifest"
    assert made["metadata"]["labels"] == {
        "app": "k8s-nim-operator",
        "app.kubernetes.io/name": "llama",
        "app.kubernetes.io/instance": "llama",
        "app.kubernetes.io/part-of": "nim-cache",
        "app.kubernetes.io/managed-by": "k8s-nim-operator",
    }


def owned(kind: str = "NIMCache", name: str = "llama", uid: str = "u-cache", **meta: t.Any) -> Json:
    reference = {"kind": kind, "name": name, "uid": uid, "controller": True}
    return {"metadata": {"ownerReferences": [reference], **meta}}


@pytest.mark.parametrize(
    ("live", "standing"),
    [
        pytest.param(None, "absent", id="absent"),
        pytest.param(owned(), "ours", id="ours"),
        pytest.param(owned(deletionTimestamp="now"), "leaving", id="deleted"),
        pytest.param(owned(uid="old"), "leaving", id="namesake"),
        pytest.param(owned(kind="Other", uid="old"), "foreign", id="other-kind"),
        pytest.param(owned(name="gemma", uid="x"), "foreign", id="other-cache"),
        pytest.param({"metadata": {}}, "foreign", id="nobodys"),
        pytest.param(
            {"metadata": {"labels": {"app.kubernetes.io/managed-by": "k8s-nim-operator"}}},
            "ours",
            id="an-operators",
        ),
    ],
)
def test_standing(cache: t.Callable[..., Json], live: Json | None, standing: str) -> None:
    assert standing_of(live, cache()) == standing
