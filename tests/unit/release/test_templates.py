# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_release.errors import ReleaseError
from nimops_release.templates import Hooks, guard, map_scalars


def test_render_marks():
    hooks = Hooks()
    item = {
        "kind": "Pod",
        "spec": {
            "replicas": hooks.mark("{{ .Values.replicas }}"),
            "resources": hooks.mark("{{- toYaml .Values.resources | nindent @N@ }}"),
            "args": [
                "--first",
                hooks.mark(guard(".Values.on", "- --second\n")),
                f"--third={hooks.mark('{{ .Values.third }}')}",
            ],
            hooks.mark('{{- include "x" . | nindent @N@ }}'): None,
        },
    }
    assert hooks.render(item) == (
        "kind: Pod\n"
        "spec:\n"
        "  replicas: {{ .Values.replicas }}\n"
        "  resources: {{- toYaml .Values.resources | nindent 4 }}\n"
        "  args:\n"
        "  - --first\n"
        "  {{- if .Values.on }}\n"
        "  - --second\n"
        "  {{- end }}\n"
        "  - --third={{ .Values.third }}\n"
        '  {{- include "x" . | nindent 2 }}\n'
    )


def test_render_foreign_expressions():
    item = {"kind": "ConfigMap", "metadata": {"name": "odd"}, "data": {"a": "{{ .Values }}"}}
    with pytest.raises(ReleaseError, match="ConfigMap odd"):
        Hooks().render(item)


def test_map_scalars_keys_in_lists():
    seen = []

    def change(key, value):
        seen.append((key, value))
        return f"<{value}>"

    assert map_scalars({"a": [1, {"b": 2}], "c": 3}, change) == {
        "a": ["<1>", {"b": "<2>"}],
        "c": "<3>",
    }
    assert seen == [("a", 1), ("b", 2), ("c", 3)]
