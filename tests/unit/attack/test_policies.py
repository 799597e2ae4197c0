# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from nimops_attack.policies import strip_rules

KEPT = {"rule": "self == oldSelf", "message": "is immutable"}
KEYS = {"rule": "self.all(key, !key.startsWith('__ansible'))", "message": "reserved"}


def test_only_rules_about_such_keys_go() -> None:
    schema = {
        "properties": {
            "a": {"x-kubernetes-validations": [KEYS, KEPT]},
            "b": {"items": {"x-kubernetes-validations": [KEYS]}},
        }
    }
    assert strip_rules(schema) == {
        "properties": {"a": {"x-kubernetes-validations": [KEPT]}, "b": {"items": {}}}
    }
