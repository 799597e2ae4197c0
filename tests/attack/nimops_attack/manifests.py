# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Manifests of models, whose authors need no permissions in the cluster, and edited children."""

from __future__ import annotations

import json

from nimops_harness.cluster import Json
from nimops_harness.workload import conditions_of, make_nimcache, make_nimservice

from .harness import Scene, attack, messages_of
from .payloads import CLASSES, MARKER_KEYS, apply_defaults, make_token

_STAMP = "2026-01-01T00:00:00.000000000Z stdout F "
_TAGS = {
    "gpu": "H100",
    "gpu_device": "2330:10de",
    "llm_engine": "tensorrt_llm",
    "tp": "1",
    "precision": "fp8",
    "profile": "throughput",
}


def make_profile(identity: str, model: str = "acme/tiny-llm", **tags: str) -> Json:
    return {identity: {"model": model, "release": "1.0.0", "tags": _TAGS | tags}}


def with_templates(canary: str) -> Json:
    """Templates and marker keys wherever a manifest has text."""
    profiles: Json = {}
    for number, key in enumerate(MARKER_KEYS):
        text = apply_defaults(CLASSES[0].text, make_token("manifest", key), canary)
        profiles |= make_profile(f"{number:064x}", text, **{key: text, "other": text, text: "1"})
    text = apply_defaults(CLASSES[0].text, make_token("manifest", "id"), canary)
    return profiles | make_profile(text)


def print_manifest(scene: Scene, pod: str, manifest: Json) -> None:
    """Replace the log of a pod; JSON is YAML."""
    folder = scene.harness.sandbox.folder / "pod-logs"
    folder.mkdir(exist_ok=True)
    path = folder / f"{scene.namespace}-{pod}.log"
    lines = json.dumps(manifest, indent=1).splitlines()
    path.write_text("".join(f"{_STAMP}{line}\n" for line in lines))
    body = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Logs",
        "spec": {"logs": [{"logsFile": str(path)}]},
    }
    scene.plant(("apis/kwok.x-k8s.io/v1alpha1", "logs"), pod, body)


def make_choosy_cache(name: str) -> Json:
    cache = make_nimcache(name)
    cache["spec"]["source"]["ngc"]["model"] = {"engine": "tensorrt_llm"}
    return cache


@attack(
    "manifest-templates", "nothing evaluated; keys of Ansible are not in the status", quick=True
)
def attack_manifest(scene: Scene) -> str:
    print_manifest(scene, "model-pod", with_templates(scene.canary))
    user = make_nimservice("user", storage={"nimCache": {"name": "model"}})
    scene.make(make_choosy_cache("model"), user)
    scene.expect_served()
    is_judged = scene.wait_for(lambda: has_verdict(scene.read("NIMCache", "model")))
    scene.expect(is_judged, "the NIMCache does not report its manifest")
    cache = scene.read("NIMCache", "model")
    status = cache.get("status") or {}
    profiles = status.get("profiles") or []
    for key in sorted({key for profile in profiles for key in profile.get("config") or {}}):
        scene.expect(not key.startswith("__ansible"), f"the status lists the key {key}")
    scene.expect_unevaluated()
    scene.expect_deleted()
    return f"{status.get('state')}, {len(profiles)} profiles, {''.join(messages_of(cache)[-1:])}"


def has_verdict(cache: Json) -> bool:
    """Whether its manifest was read or refused."""
    status = cache.get("status") or {}
    stalled = ("Stalled", "NIM_CACHE_RECONCILE_FAILED")
    return bool(
        status.get("profiles")
        or status.get("state") in ("Failed", "Ready")
        or any(it["type"] in stalled and it["status"] == "True" for it in conditions_of(cache))
    )


@attack("children-edited", "what a tenant writes into children is taken as text")
def attack_children(scene: Scene) -> str:
    """A tenant edits children, and the statuses of their pods, which the operator then reads."""
    scene.make(make_choosy_cache("model"), make_nimservice("service"))
    scene.wait_for(lambda: scene.find("ConfigMap", "model-manifest"))
    scene.wait_state("service")
    text = apply_defaults(CLASSES[0].text, make_token("child"), scene.canary) + "\n\x1b[31m"
    notes = {"metadata": {"annotations": {"a/x": text, "b": text}}}
    keys = ("__ansible_unsafe", "__ansible_vault", "model_manifest.yaml")
    data = notes | {"data": dict.fromkeys(keys, text.replace("\x1b", ""))}
    condition = {"status": "False", "reason": text, "message": text}
    pod = {"message": text, "reason": text, "conditions": [condition | {"type": "Ready"}]}
    deployment = {"conditions": [condition | {"type": "Progressing"}]}
    names = [item["metadata"]["name"] for item in scene.cluster.items("Pod", scene.namespace)]
    pods = [name for name in names if name.startswith("service-")]
    edits: list[tuple[str, Json]] = [
        (scene.path("ConfigMap", "model-manifest"), data),
        (scene.path("Service", "service"), notes),
        (scene.path("Deployment", "service"), notes),
        (f"{scene.path('Deployment', 'service')}/status", {"status": deployment}),
        *((f"{scene.path('Pod', name)}/status", {"status": pod}) for name in pods),
    ]
    for path, change in edits:
        refusal = scene.cluster.merge(path, change).refusal
        scene.expect(not refusal, f"{path} could not be edited: {refusal}")
    scene.expect(len(edits) > 4, "no pod was edited")
    scene.change("service", {"spec": {"replicas": 2, "env": [{"name": "A", "value": "b"}]}})
    scene.expect_answered()
    scene.expect_printable("service")
    scene.expect_unevaluated()
    scene.expect_deleted()
    return f"{len(edits)} children and statuses with templates: nothing evaluated"
