# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from site_links import convert_link, convert_page

HOST = "https://git.example.com/a/b"


@pytest.fixture
def root(tmp_path):
    for name in ("docs/user/nemo/README.md", "docs/user/empty/a.png", "config/samples/a.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


LINKS = {
    "a page": ("nimcache.md#status", "nimcache.md#status"),
    "a heading": ("#status", "#status"),
    "another host": ("https://example.com/a", "https://example.com/a"),
    "an address": ("mailto:a@example.com", "mailto:a@example.com"),
    "a folder with an index": ("nemo/", "nemo/README.md"),
    "a folder with an index and a heading": ("nemo#a", "nemo/README.md#a"),
    "a folder without an index": ("empty", "empty"),
    "a file": ("../../config/samples/a.yaml", f"{HOST}/blob/main/config/samples/a.yaml"),
    "a file and a line": (
        "../../config/samples/a.yaml#L1",
        f"{HOST}/blob/main/config/samples/a.yaml#L1",
    ),
    "a folder": ("../../config/samples", f"{HOST}/tree/main/config/samples"),
    "no file": ("../../config/none.yaml", "../../config/none.yaml"),
    "outside": ("../../../secret", "../../../secret"),
}


@pytest.mark.parametrize(("target", "expected"), LINKS.values(), ids=LINKS)
def test_convert_link(root, target, expected):
    assert convert_link(target, "user/nimservice.md", HOST, root) == expected


TEXTS = {
    "code is not a link": ("```md\n[a](../../config/samples)\n```\n",) * 2,
    "two links": (
        "[a](nemo) [b](../../config/samples)\n",
        f"[a](nemo/README.md) [b]({HOST}/tree/main/config/samples)\n",
    ),
    "below a number": (
        "1. a\n\n   ```sh\n   b\n   ```\n2. c\n",
        "1. a\n\n    ```sh\n    b\n    ```\n2. c\n",
    ),
    "below a point": ("- a\n  - b\n", "- a\n    - b\n"),
    "after a list": ("- a\n\ntext\n  text\n", "- a\n\ntext\n  text\n"),
    "a list after text": ("text:\n- a\n", "text:\n\n- a\n"),
    "a list in code": ("```yaml\n- a:\n  - b\n```\n",) * 2,
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS)
def test_convert_page(root, text, expected):
    assert convert_page(text, "user/nimservice.md", HOST, root) == expected
