# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The colors of a report: contrast as WCAG 2.2 requires at level AA."""

from __future__ import annotations

import re

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.style import (
    DARK,
    LIGHT,
    SHAPES,
    TEXTS,
    write_style,
)

PALETTES = {"light": LIGHT, "dark": DARK}


def luminance(color):
    parts = [int(color[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_colors():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
@pytest.mark.parametrize(("pairs", "least"), [(TEXTS, 4.5), (SHAPES, 3)], ids=["texts", "shapes"])
def test_contrast(palette, pairs, least):
    weak = {
        pair: round(found, 2)
        for pair in pairs
        if (found := contrast(palette[pair[0]], palette[pair[1]])) < least
    }
    assert weak == {}


def test_all_colors_are_checked():
    decorative = {"line"}
    assert LIGHT.keys() == DARK.keys()
    assert {name for pair in TEXTS + SHAPES for name in pair} | decorative == LIGHT.keys()


def test_rules_use_the_palette():
    style = write_style()
    used = set(re.findall(r"var\(--([\w-]+)\)", style))
    assert used == LIGHT.keys()
    rules = style.partition("* { box-sizing")[2]
    assert not re.search(r"#[0-9a-fA-F]{3}", rules)
