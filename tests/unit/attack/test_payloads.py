# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import jinja2
import pytest
from nimops_attack.payloads import (
    CLASSES,
    PACKED,
    PayloadClass,
    apply_defaults,
    find_evaluated,
    find_loose_in_cel,
    make_token,
)

TOKEN = make_token("a", "b")


@pytest.mark.parametrize("payload", [*CLASSES, PACKED], ids=lambda item: item.name)
def test_payloads_have_tokens(payload: PayloadClass) -> None:
    for text in (payload.text, payload.short):
        filled = apply_defaults(text, TOKEN, "/c")
        assert TOKEN in filled
        assert "@" not in filled
        assert not find_evaluated(filled)
    assert len(apply_defaults(payload.short, TOKEN, "/c")) <= 40


def test_find_evaluated() -> None:
    environment = jinja2.Environment()
    for part in apply_defaults(CLASSES[0].text, TOKEN, "/c").split(" mk"):
        text = part.partition("{{ lookup")[0]
        said = environment.from_string(text if text.startswith("mk") else "mk" + text).render()
        assert find_evaluated(said) == {TOKEN}


@pytest.mark.parametrize(
    ("expression", "loose"),
    [
        ('device.attributes["d"].x == "TOK"', False),
        (r'device.attributes["d"].x == "\" || TOK() || \""', False),
        ('device.attributes["d"].x == "" || TOK() || ""', True),
        ('device.attributes["d"].TOK', True),
    ],
)
def test_find_loose_in_cel(expression: str, loose: bool) -> None:
    assert find_loose_in_cel(expression, "TOK") is loose
