# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.probe_pod import build_probe_pod
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    read_log,
)


def test_build_probe_pod(cache):
    pod = build_probe_pod(NIMCacheApp(cache(runtimeClassName="nvidia")), "OpenShift")
    assert pod["metadata"]["annotations"] == {
        "openshift.io/required-scc": "nonroot",
        "nimops.nim/last-applied-generation": "1",
    }
    assert pod["metadata"]["labels"]["app.kubernetes.io/name"] == "llama"
    assert pod["metadata"]["ownerReferences"][0]["uid"] == "u-cache"
    (container,) = pod["spec"]["containers"]
    assert set(container) == {"name", "image", "command", "resources", "securityContext"}
    assert container["resources"]["limits"] == {"cpu": "0", "memory": "0"}
    assert set(pod["spec"]) == {
        "containers", "imagePullSecrets", "nodeSelector", "runtimeClassName", "securityContext",
        "serviceAccountName",
    }  # fmt: skip


def test_build_probe_pod_on_tkgs(cache):
    spec = build_probe_pod(NIMCacheApp(cache()), "TKGS")["spec"]
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
def test_build_probe_pod_script(cache, tmp_path, files, tool, text, has_puller):
    """Run the shell code with other paths and without the endless loop."""
    script = build_probe_pod(NIMCacheApp(cache()), "Kubernetes")["spec"]["containers"][0][
        "command"
    ][2]
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
