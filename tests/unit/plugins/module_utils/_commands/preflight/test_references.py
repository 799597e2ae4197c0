# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Secrets, ConfigMaps, accounts, classes and images."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.references import (
    check_absent,
    check_accounts,
    check_classes,
    check_images,
    check_references,
    named_secrets,
    pull_secrets_of,
    references_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey as Key,
)


def secret(name="auth", *keys, registries=()):
    metadata = {"name": name, "namespace": "nim"}
    return {
        "kind": "Secret",
        "metadata": metadata,
        "keys": list(keys),
        "registries": list(registries),
    }


def env(key, name="auth", field="secretKeyRef", **more):
    return {"name": "X", "valueFrom": {field: {"name": name, "key": key, **more}}}


def pod(*variables, volumes=(), sources=()):
    container = {"name": "c", "image": "a", "env": list(variables), "envFrom": list(sources)}
    return {"containers": [container], "volumes": list(volumes)}


def test_references_of_pod():
    volumes = [
        {"name": "s", "secret": {"secretName": "one", "items": [{"key": "k"}]}},
        {"name": "m", "configMap": {"name": "two", "optional": True}},
        {"name": "p", "projected": {"sources": [{"secret": {"name": "three"}}, {}]}},
        {"name": "e", "emptyDir": {}},
    ]
    sources = [{"secretRef": {"name": "four"}}, {"configMapRef": {"name": "five"}}]
    found = references_of(pod(env("KEY"), volumes=volumes, sources=sources))
    assert [(it.kind, it.name, it.key, it.is_optional) for it in found] == [
        ("Secret", "auth", "KEY", False),
        ("Secret", "four", "", False),
        ("ConfigMap", "five", "", False),
        ("Secret", "one", "k", False),
        ("ConfigMap", "two", "", True),
        ("Secret", "three", "", False),
    ]


def test_named_secrets_of_specs():
    cache = {"source": {"hf": {"authSecret": "token", "pullSecret": "pull"}}}
    service = {"authSecret": "key"}
    pipeline = {"services": [{"spec": {"authSecret": "a", "storage": {"nimCache": {"name": "b"}}}}]}
    found = [item for spec in (cache, service, pipeline) for item in named_secrets(spec)]
    assert [(it.name, it.key, it.field, it.is_optional) for it in found] == [
        ("token", "HF_TOKEN", "spec.source.hf.authSecret", False),
        ("key", "", "spec.authSecret", False),
        ("a", "", "spec.services[0].spec.authSecret", True),
    ]


CACHED = {"authSecret": "auth", "storage": {"nimCache": {"name": "models"}}}
OWN = {"authSecret": "auth"}
NGC, HF = env("NGC_API_KEY", optional=True), env("HF_TOKEN", optional=True)
REFERENCES = {
    "has the key": ({}, pod(env("KEY")), secret("auth", "KEY"), ["ok"]),
    "lacks the key": ({}, pod(env("KEY")), secret("auth", "OTHER"), ["error"]),
    "lacks an optional key": ({}, pod(env("KEY", optional=True)), secret(), ["warning"]),
    "missing": ({}, pod(env("KEY"), env("OTHER")), None, ["error"]),
    "one of the download keys": (OWN, pod(NGC, HF), secret("auth", "HF_TOKEN"), ["ok"]),
    "no download key": (OWN, pod(NGC, HF), secret("auth", "OTHER"), ["error"]),
    "no download key, with a cache": (CACHED, pod(NGC, HF), secret(), ["warning"]),
    "missing, for the download": (OWN, pod(NGC, HF), None, ["error"]),
    "missing, with a cache": (CACHED, pod(NGC, HF), None, ["warning"]),
}


@pytest.mark.parametrize("case", REFERENCES)
def test_check_references(make_group, make_rendered, make_facts, levels, case):
    spec, given, found, wanted = REFERENCES[case]
    absent = [] if found else [("Secret", "auth")]
    facts = make_facts(*([found] if found else []), absent=absent)
    rendered = make_rendered(spec=spec)
    checks = levels(check_references([make_group(given)], rendered, facts))
    assert [level for level, _message in checks] == wanted


def test_check_references_rendered_or_unknown(make_group, make_rendered, make_facts):
    made = {"kind": "Secret", "metadata": {"name": "auth", "namespace": "nim"}}
    groups = [make_group(pod(env("KEY"), env("KEY", "unread")))]
    facts = make_facts(absent=[("Secret", "auth")])
    reporters = check_references(groups, make_rendered(made), facts)
    assert [check for reporter in reporters for check in reporter.found] == []


def test_check_references_names_the_download_key(make_group, make_rendered, make_facts, levels):
    facts = make_facts(secret("auth", "NGC_API_KEY"))
    found = check_references([make_group(pod(NGC, HF))], make_rendered(spec=OWN), facts)
    assert levels(found) == [("ok", "Secret auth has the key NGC_API_KEY")]


def test_check_references_of_ingress(make_rendered, make_facts, levels):
    metadata = {"name": "llm", "namespace": "nim"}
    ingress = {"kind": "Ingress", "metadata": metadata, "spec": {"tls": [{"secretName": "auth"}]}}
    facts = make_facts(absent=[("Secret", "auth")])
    ((level, text),) = levels(check_references([], make_rendered(ingress), facts))
    assert (level, "tls of Ingress llm" in text) == ("warning", True)


def test_check_references_remedy(make_group, make_rendered, make_facts):
    facts = make_facts(absent=[("ConfigMap", "auth")])
    groups = [make_group(pod(env("KEY", field="configMapKeyRef")))]
    (reporter,) = check_references(groups, make_rendered(), facts)[-1:]
    assert reporter.found[0].remedy == ("kubectl -n nim create configmap auth --from-literal=KEY=…")


PULL = ".dockerconfigjson"
IMAGES = {
    "covered": ("nvcr.io/nim/a:1", [secret("pull", PULL, registries=["nvcr.io"])], ["ok"]),
    "wildcard": ("x.example.com/a", [secret("pull", PULL, registries=["*.example.com"])], ["ok"]),
    "Docker Hub": ("library/a", [secret("pull", PULL, registries=["docker.io"])], ["ok"]),
    "another registry": (
        "nvcr.io/nim/a:1",
        [secret("pull", PULL, registries=["quay.io"])],
        ["warning"],
    ),
    "none": ("nvcr.io/nim/a:1", [], ["warning"]),
    "none needed": ("quay.io/a", [], []),
    "missing": ("nvcr.io/nim/a:1", [None], ["error"]),
    "no pull Secret": ("quay.io/a", [secret("pull", "token")], ["error", "warning"]),
    "not an image": ("UPPER CASE", [], ["error"]),
}


@pytest.mark.parametrize("case", IMAGES)
def test_check_images(make_group, make_rendered, make_facts, levels, case):
    image, secrets, wanted = IMAGES[case]
    names = [{"name": "pull"}] if secrets else []
    spec = {"containers": [{"name": "c", "image": image}], "imagePullSecrets": names}
    absent = [("Secret", "pull")] if None in secrets else []
    facts = make_facts(*filter(None, secrets), absent=absent)
    found = levels(check_images([make_group(spec)], make_rendered(), facts))
    assert [level for level, _message in found] == wanted


def test_pull_secrets_of_account(make_group, make_rendered, make_facts):
    account = {
        "kind": "ServiceAccount",
        "metadata": {"name": "default"},
        "imagePullSecrets": [{"name": "of-account"}],
    }
    facts = make_facts(account)
    assert pull_secrets_of(make_group(), make_rendered(), facts) == ["of-account"]
    own = make_group({"imagePullSecrets": [{"name": "own"}]})
    assert pull_secrets_of(own, make_rendered(), facts) == ["own"]


def test_check_accounts(make_group, make_rendered, make_facts, levels):
    group = make_group({"serviceAccountName": "llm"})
    facts = make_facts(absent=[("ServiceAccount", "llm")])
    made = {"kind": "ServiceAccount", "metadata": {"name": "llm", "namespace": "nim"}}
    assert levels(check_accounts([group], make_rendered(made), facts)) == []
    ((level, _message),) = levels(check_accounts([group], make_rendered(), facts))
    assert level == "error"


def test_check_classes(make_group, make_facts, levels):
    group = make_group({"priorityClassName": "high", "runtimeClassName": "nvidia"})
    high = {"kind": "PriorityClass", "metadata": {"name": "high"}}
    facts = make_facts(high, absent=[("RuntimeClass", "nvidia")])
    assert levels(check_classes([group], facts)) == [
        ("ok", "PriorityClass high exists"),
        ("error", "RuntimeClass nvidia does not exist; named in runtimeClassName"),
    ]


def test_check_absent(make_rendered, levels):
    rendered = make_rendered(absent={Key("NIMCache", "nim", "models")})
    ((level, message),) = levels(check_absent(rendered))
    assert (level, message.startswith("NIMCache nim/models does not exist")) == ("error", True)
