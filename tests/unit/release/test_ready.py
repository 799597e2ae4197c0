# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The program of `helm test`, with a scripted API server."""

from __future__ import annotations

import io
import ssl
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RESOURCES = "/apis/apps.nvidia.com/v1alpha1/nimcaches"


@pytest.fixture
def ready(load_module, monkeypatch):
    module = load_module(ROOT / "release/chart/ready.py")
    monkeypatch.setattr(module.time, "sleep", lambda _seconds: None)
    monkeypatch.setenv("RESOURCES", RESOURCES)
    monkeypatch.setenv("NAMESPACE", "nimops-system")
    monkeypatch.setenv("LEASE", "a0715c6e.nvidia.com")
    return module


def answer(monkeypatch, module, leases):
    """Each read of the Lease returns the next holder and time; the last one repeats."""
    left = list(leases)
    asked = []

    def get(path):
        asked.append(path)
        if "/leases/" not in path:
            return {"items": [{}]}
        holder, renewed = left.pop(0) if len(left) > 1 else left[0]
        return {"spec": {"holderIdentity": holder, "renewTime": renewed}}

    monkeypatch.setattr(module, "get", get)
    return asked


def test_authority_without_key_identifiers(ready, monkeypatch, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13
    monkeypatch.setattr(ready.ssl, "create_default_context", lambda cafile: context)
    monkeypatch.setattr(
        ready.urllib.request, "urlopen", lambda *_args, **_options: io.BytesIO(b"{}")
    )
    monkeypatch.setattr(ready, "ACCOUNT", tmp_path)
    (tmp_path / "token").write_text("t0ken")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert ready.get(RESOURCES) == {}
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT


def test_lease_renewed(ready, monkeypatch, capsys):
    asked = answer(monkeypatch, ready, [("one", "1"), ("one", "1"), ("two", "2")])
    ready.main()
    assert capsys.readouterr().out == f"{RESOURCES}: 1\ntwo leads\n"
    assert asked[1].endswith("/namespaces/nimops-system/leases/a0715c6e.nvidia.com")


@pytest.mark.parametrize(
    ("leases", "pattern"),
    [
        pytest.param([("one", "1")], r"\(last: one\)", id="no longer renewed"),
        pytest.param([("one", "1"), ("", "2"), ("", "3")], r"\(last: none\)", id="given up"),
    ],
)
def test_lease_not_renewed(ready, monkeypatch, leases, pattern):
    answer(monkeypatch, ready, leases)
    with pytest.raises(SystemExit, match=pattern):
        ready.main()


def test_without_leader_election(ready, monkeypatch):
    monkeypatch.setenv("LEASE", "")
    asked = answer(monkeypatch, ready, [("", "")])
    ready.main()
    assert asked == [RESOURCES]
