# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parser, and what runs a command."""

from __future__ import annotations

import io
import json
import sys

import click
import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from kubectl_nim.app import parse_pair, parse_seconds
from kubectl_nim.run import INTERRUPTED, UNREACHABLE
from kubectl_nim.terminal import Terminal, make_safe

MANIFEST = """
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: llm}
spec:
  image: {repository: registry.example/llm, tag: "1"}
  authSecret: key
  storage: {emptyDir: {}}
  expose: {service: {port: 8000}}
"""


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h", 3600)])
def test_parse_seconds(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "-1", "1.5", "m", "1d", "\u0661", "9" * 10])
def test_parse_seconds_invalid(text):
    with pytest.raises(click.BadParameter, match="duration"):
        parse_seconds(text)


def test_parse_pair():
    assert parse_pair("a=b=c") == ("a", "b=c")
    with pytest.raises(click.BadParameter, match="KEY=VALUE"):
        parse_pair("=b")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["unknown"], "No such command 'unknown'"),
        (["status", "--unknown"], "--unknown"),
        (["wait", "x", "--timeout", "1d"], "duration"),
        (["status", "-o", "xml"], "'xml' is not one of"),
        (["profiles"], "manifest, nimcache, image"),
        (
            ["apply"],
            "error: No files: name files or folders with custom resources, or - for stdin.",
        ),
        (["preflight"], "error: No files"),
        (["render"], "error: No files"),
        (["scale", "llm"], "error: --replicas: missing"),
        (["ask"], "--endpoint"),
        (["wait", "nimservice/a", "--for", "a b"], "error: --for: is 'a b'"),
        (["profiles", "--nimcache", "a", "--manifest", "b"], "mutually exclusive"),
    ],
)
def test_usage_errors(nim, arguments, text):
    done = nim(*arguments)
    assert done.code == 1
    assert text in done.err
    assert done.out == ""


def test_unreachable(nim, cluster):
    cluster.server.close()
    done = nim("status")
    assert done.code == UNREACHABLE
    assert "cannot be reached" in done.err


def test_version(nim):
    assert nim("--version").out.startswith("kubectl-nim ")


def test_interruption(nim, monkeypatch):
    def interrupt(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("kubectl_nim.app.run_verb", interrupt)
    assert nim("status").code == INTERRUPTED


def test_stdin_and_output(nim, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MANIFEST.encode())))
    done = nim("render", "-f", "-", "-n", "models", "-o", "json")
    assert done.code == 0, done.err
    items = json.loads(done.out)["items"]
    assert {item["metadata"]["namespace"] for item in items} == {"models"}
    assert "Deployment" in {item["kind"] for item in items}


def test_files_as_arguments_and_options(nim, tmp_path):
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(MANIFEST)
    two.write_text(MANIFEST.replace("name: llm", "name: other"))
    done = nim("images", str(one), "-f", str(two), "-o", "yaml")
    [image] = yaml.safe_load(done.out)
    assert (
        image["users"] == ["Deployment nim/llm", "Deployment nim/other"] or len(image["users"]) == 2
    )


def test_failure_has_its_message(nim, tmp_path):
    file = tmp_path / "nim.yaml"
    file.write_text(MANIFEST.replace("kind: NIMService", "kind: NIMServices"))
    done = nim("render", str(file))
    assert done.code == 1
    assert done.err.startswith("error: ")
    assert "NIMServices" in done.err


@pytest.mark.parametrize("answer", [None, "n\n", "y\n"])
def test_confirmation(nim, cluster, monkeypatch, answer):
    path = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices/llm"
    cluster.put(
        path,
        yaml.safe_load(MANIFEST)
        | {
            "metadata": {
                "name": "llm",
                "namespace": "nim",
                "finalizers": [kind_of({"kind": "NIMService"}).finalizer],
            }
        },
    )

    class Typed(io.StringIO):
        def isatty(self):
            return answer is not None

    monkeypatch.setattr(sys, "stdin", Typed(answer or ""))
    done = nim("release", "-n", "nim")
    assert "NIMService nim/llm" in done.out or done.code
    assert bool(cluster.calls("PATCH")) == (answer == "y\n")
    if answer is None:
        assert "--yes" in done.err
    assert done.code == (0 if answer == "y\n" else 1)


def test_make_safe():
    class Screen(io.StringIO):
        def isatty(self):
            return True

    assert make_safe("a\x1b[31mb\nc\td\r", Screen()) == "a[31mb\nc\td"
    assert make_safe("a\x1b", io.StringIO()) == "a\x1b"


def test_name_command():
    assert Terminal.name_command("apply", files="a b.yaml") == "kubectl nim apply -f 'a b.yaml'"
    assert Terminal.name_command("takeover", back="true", yes="true") == (
        "kubectl nim takeover --back --yes"
    )
    assert Terminal.name_command("gpu_status") == "kubectl nim gpu-status"


def test_verdict_is_exit_code(nim, cluster, tmp_path):
    """An error of preflight does not fail the command: the checks are on stdout, and stderr is empty."""
    file = tmp_path / "nim.yaml"
    file.write_text(MANIFEST)
    done = nim("preflight", str(file), "-o", "json")
    assert (done.code, done.err, json.loads(done.out)["runnable"]) == (1, "", False)
    objects = {
        "nodes/a": {"kind": "Node", "status": {"allocatable": {"pods": "1"}}},
        "namespaces/default": {"kind": "Namespace"},
        "namespaces/default/secrets/key": {"kind": "Secret", "data": {"NGC_API_KEY": ""}},
        "namespaces/default/serviceaccounts/default": {"kind": "ServiceAccount"},
    }
    for path, item in objects.items():
        cluster.put(f"/api/v1/{path}", {"metadata": {"name": path.split("/")[-1]}, **item})
    done = nim("preflight", "-f", str(file))
    assert (done.code, done.out.splitlines()[-1][:12]) == (0, "can run here"), done.out


@pytest.mark.parametrize(
    ("options", "code"), [((), 0), (("--fail-on-changes",), 1)], ids=["without", "with"]
)
def test_plan_fail_on_changes(nim, tmp_path, options, code):
    file = tmp_path / "nim.yaml"
    file.write_text(MANIFEST)
    done = nim("plan", str(file), *options)
    assert (done.code, "create NIMService" in done.out) == (code, True), done.err


def test_no_arguments_is_help(nim):
    done = nim()
    assert (done.code, done.err) == (0, "")
    assert "preflight" in done.out


def test_usage_error_has_form_of_kubectl(nim):
    assert nim("statu").err.splitlines() == [
        "error: No such command 'statu'. Did you mean status?",
        "See 'kubectl nim --help' for usage.",
    ]


@pytest.mark.parametrize("verb", ["status", "plan", "wait", "release", "gather", "logs"])
@pytest.mark.parametrize("options", [["--context", "nope"], ["--kubeconfig", "/nope"]])
def test_kubeconfig_errors(nim, verb, options):
    done = nim(verb, *(["llm"] if verb == "logs" else []), *options)
    assert (done.code, done.out) == (UNREACHABLE, "")
    assert done.err.startswith("error: no usable kubeconfig")


def test_internal_error(nim, monkeypatch):
    def fail(*_arguments):
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("kubectl_nim.app.run_verb", fail)
    done = nim("status")
    assert done.code == 1
    [line] = done.err.splitlines()
    assert line.startswith("error: internal: ZeroDivisionError: a b. ")
    assert "NIMOPS_DEBUG=1" in line
    monkeypatch.setenv("NIMOPS_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        nim("status")


def test_system_error_is_not_internal(nim, tmp_path):
    (tmp_path / "file").write_text("")
    source = tmp_path / "nim.yaml"
    source.write_text(MANIFEST)
    done = nim("render", str(source), "--output-dir", str(tmp_path / "file" / "folder"))
    assert done.code == 1
    assert "internal" not in done.err
    assert str(tmp_path / "file") in done.err


@pytest.mark.parametrize(("status", "text"), [(401, "expired"), (403, "docs/operate/rbac.md")])
@pytest.mark.parametrize("arguments", [["logs", "llm"], ["apply", "-f", "-"]])
def test_refused_request_has_remedy(nim, cluster, refused, monkeypatch, status, text, arguments):
    path = "/apis/apps.nvidia.com/v1alpha1/namespaces/default/nimservices/llm"
    for method in ("GET", "PATCH"):
        cluster.refuse[method, path] = [refused(status, "no")] * 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MANIFEST.encode())))
    done = nim(*arguments)
    assert done.code == 1
    assert text in done.err


@pytest.mark.parametrize("content", [b"a: \xff", b"\xff\xfea\x00"])
@pytest.mark.parametrize("arguments", [["render", "-f", "-"], ["images", "-"]])
def test_stdin_not_utf8(nim, monkeypatch, content, arguments):
    stdin = io.TextIOWrapper(io.BytesIO(content), errors="surrogateescape")
    monkeypatch.setattr(sys, "stdin", stdin)
    done = nim(*arguments)
    assert (done.code, done.err) == (1, "error: -: is not text in UTF-8\n")


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_closed_stream(nim, tmp_path, monkeypatch, stream):
    file = tmp_path / "nim.yaml"
    file.write_text(MANIFEST)
    monkeypatch.setattr(sys, stream, None)
    assert nim("render", "-f", str(file)).code == 0
    assert nim("release").code == 0


def test_messages_name_no_playbook(nim, cluster, refused, tmp_path):
    """A user of kubectl nim has no ansible-playbook."""
    file = tmp_path / "nim.yaml"
    file.write_text(MANIFEST)
    service = "/apis/apps.nvidia.com/v1alpha1/namespaces/default/nimservices/llm"
    for request in (("PATCH", service), ("GET", "/apis/nvidia.com/v1/clusterpolicies")):
        cluster.refuse[request] = [refused(404, "not found")] * 2
    reference = {
        "metadata": {
            "name": "nim",
            "namespace": "nvidia",
            "labels": {"app.kubernetes.io/name": "k8s-nim-operator"},
        },
        "spec": {
            "replicas": 1,
            "template": {
                "spec": {
                    "containers": [{"image": "nvcr.io/nvidia/cloud-native/k8s-nim-operator:v3"}]
                }
            },
        },
    }
    cluster.put("/apis/apps/v1/namespaces/nvidia/deployments/nim", reference)
    for arguments in (
        ["apply", "-f", str(file)],
        ["preflight", "-f", str(file)],
        ["gpu", "status"],
        ["install"],
    ):
        done = nim(*arguments)
        assert "kubectl nim" in done.out + done.err, arguments
        assert "ansible-playbook" not in done.out + done.err, arguments


@pytest.mark.parametrize("image", [[], ["--image", "registry.example/nimops:1"]])
def test_install_with_image_has_operator(nim, image):
    done = nim("install", "--dry-run", *image)
    assert done.code == 0, done.err
    assert ("create Deployment nimops-system/" in done.out) == bool(image)
