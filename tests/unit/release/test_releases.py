# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_release.epoch import format_epoch, read_epoch
from nimops_release.errors import SetupError
from nimops_release.releases import upgrade_notes


def test_upgrade_notes():
    changes = {"bugfixes": ["one"], "removed_features": ["two"], "breaking_changes": ["three"]}
    text = upgrade_notes("1.2.3", changes)
    assert text.startswith("# Upgrade to nimops.nim 1.2.3\n")
    assert text.index("## Breaking changes\n\n- three\n") < text.index("## Removed\n\n- two\n")
    assert "one" not in text
    assert "Deprecated" not in text


@pytest.mark.parametrize("given", ["yesterday", "-1", "1.5"])
def test_read_epoch_invalid(monkeypatch, tmp_path, given):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
    with pytest.raises(SetupError, match="number of seconds"):
        read_epoch(tmp_path)


def test_read_epoch(monkeypatch, tmp_path):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    assert read_epoch(tmp_path) == 1767225600


def test_format_epoch():
    assert format_epoch(1767225600) == "2026-01-01T00:00:00Z"
