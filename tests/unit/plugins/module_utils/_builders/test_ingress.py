# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._builders.ingress import (
    build_ingress,
    ingress_spec,
)


def test_ingress_spec() -> None:
    backend = {"service": {"name": "front", "port": {"name": "api"}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    rules = [{"host": "h.example", "http": {"paths": [path]}}]
    given = {"ingressClass": "nginx"}
    assert ingress_spec("h.example", "front", given) == {
        "ingressClassName": "nginx",
        "rules": rules,
    }
    assert ingress_spec("h.example", "front", given | {"tlsSecretName": "tls"}) == {
        "ingressClassName": "nginx",
        "rules": rules,
        "tls": [{"hosts": ["h.example"], "secretName": "tls"}],
    }


def test_ingress_spec_of_another_port() -> None:
    spec = ingress_spec("h", "front", {"ingressClass": "nginx"}, "http")
    (path,) = spec["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["port"] == {"name": "http"}


def test_build_ingress(app: t.Any) -> None:
    spec = {"rules": [{"host": "h"}]}
    made = build_ingress(app(annotations={"a": "1"}), spec, {"a": "2", "b": "2"})
    assert (made["kind"], made["metadata"]["name"], made["spec"]) == ("Ingress", "a", spec)
    assert made["metadata"]["annotations"] == {"a": "1", "b": "2"}
