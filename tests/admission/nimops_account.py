# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A client with the operator's token and all its permissions."""

from __future__ import annotations

import json

import yaml
from nimops_harness.cluster import APPLY, MERGE, Api, Json, kubectl, path_of
from nimops_harness.progress import wait_until
from nimops_harness.runtime import ROOT

NAMESPACE, NAME = "nimops-system", "nimops-controller-manager"
POLICY = "operator-account"
"""The policy of config/admission, whose refusals contain its name."""
_SECONDS = 120.0


class Account(Api):
    """Requests with the account's token. Unless `dry` is false, nothing is stored."""

    def __init__(self) -> None:
        token = kubectl("--namespace", NAMESPACE, "create", "token", NAME, "--duration=2h").strip()
        super().__init__(token)

    def refuses(
        self, method: str, path: str, body: Json | None = None, kind: str = "", dry: bool = True
    ) -> str:
        """The reason why the API server refuses a request; empty if it does not."""
        query = "dryRun=All" if dry else ""
        place = f"{path}{'&' if '?' in path else '?'}{query}" if query else path
        return self.ask(method, place, body, kind).refusal

    def apply(self, path: str, body: Json) -> str:
        """Apply an object as the operator does, as a dry run; the reason if it is refused."""
        place = f"{path}?fieldManager=nimops.nim&force=true"
        return self.refuses("PATCH", place, body, APPLY)

    def patch_merge(self, path: str, change: Json) -> str:
        """Send a merge patch as a dry run; the reason if it is refused."""
        return self.refuses("PATCH", path, change, MERGE)


def install_account() -> Account:
    """Install account, permissions and policies of config/overlays/gpu; returns once they work."""
    wanted = _build()
    _kubectl_all(wanted, "apply", "--server-side", "--force-conflicts")
    account = Account()
    place = path_of("Secret", NAMESPACE)
    if any(item["metadata"]["name"].endswith(POLICY) for item in wanted):
        is_used = lambda: POLICY in account.refuses("POST", place, token_secret())  # noqa: E731
        wait_until(is_used, f"the policy {POLICY}", _SECONDS)
    return account


def is_installed() -> bool:
    """Whether the account exists."""
    return bool(
        kubectl("--namespace", NAMESPACE, "get", "serviceaccount", NAME, "--ignore-not-found")
    )


def remove_account() -> None:
    """Remove the account and its permissions; the policies stay."""
    items = [
        item
        for item in _build()
        if "rbac" in item["apiVersion"] or item["kind"] == "ServiceAccount"
    ]
    _kubectl_all(items, "delete", "--ignore-not-found")


def _build() -> list[Json]:
    text = kubectl("kustomize", str(ROOT / "config" / "overlays" / "gpu"))
    key = "app.kubernetes.io/component"
    return [
        item
        for item in yaml.safe_load_all(text)
        if item["kind"] == "Namespace"
        or (item["metadata"].get("labels") or {}).get(key) in ("admission", "rbac")
    ]


def _kubectl_all(items: list[Json], *arguments: str) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    kubectl(*arguments, "-f", "-", stdin=text)


def token_secret(name: str = "stolen", account: str = "default") -> Json:
    """A Secret for which Kubernetes mints a token of a ServiceAccount."""
    note = {"kubernetes.io/service-account.name": account}
    return {
        "metadata": {"name": name, "annotations": note},
        "type": "kubernetes.io/service-account-token",
    }
