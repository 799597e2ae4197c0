# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Progress bars of pullers, as they are in a log."""

from __future__ import annotations

import time

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.puller_output import (
    Progress,
    read_progress,
    share_of,
)

G = 10**9
FETCHING = "Fetching 16 files:  31%|###1      | 5/16 [00:21<00:40,  3.9s/it]"
FIRST = "model-00001-of-00004.safetensors:  12%|#2        | 598M/4.98G [00:05<00:40, 109MB/s]"
LATER = "model-00001-of-00004.safetensors:  40%|####      | 2.00G/5.00G [00:20<00:30, 109MB/s]"
SECOND = "model-00002-of-00004.safetensors:  20%|##        | 1.00G/5.00G [00:20<00:30, 109MB/s]"
ALL = "Downloading (incomplete total...):  25%|##5       | 2.5G/10.0G [00:20<00:30, 109MB/s]"
XET = "Processing Files (3 / 12):  45%|####5     | 4.5GB / 10.0GB,  109MB/s"
BAR = "model.safetensors [00:00:26] [#####-----] 2.00 GiB/4.00 GiB 177.11 MiB/s (12s)"


@pytest.mark.parametrize(
    ("text", "need", "progress"),
    [
        (ALL, None, Progress(2 * G + G // 2, 10 * G, 25)),
        (XET, None, Progress(4 * G + G // 2, 10 * G, 45)),
        (f"{ALL}\r{FETCHING}\n{FIRST}", None, Progress(2 * G + G // 2, 10 * G, 25)),
        (f"{FIRST}\n{FETCHING}", None, Progress(None, None, 31)),
        (FETCHING, 7, Progress(None, 7, 31)),
        (f"{FIRST}\r{SECOND}\r{LATER}", None, Progress(3 * G, None, None)),
        (f"{FIRST}\r{SECOND}\r{LATER}", 12 * G, Progress(3 * G, 12 * G, 25)),
        (BAR, 8 << 30, Progress(2 << 30, 8 << 30, 25)),
        ("nimops: used 1024\nnimops: used 2048\n", None, Progress(2 << 20, None, None)),
        ("nimops: used 2048\n", 8 << 20, Progress(2 << 20, 8 << 20, 25)),
        ("nimops: used 9000\n", 8 << 20, Progress(9000 << 10, 8 << 20, 99)),
    ],
)
def test_read_progress(text, need, progress):
    assert read_progress(text, need) == progress


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5/16",
        "GET /v1/models/2B HTTP/1.1",
        "2026/11/27 10:00:00 INFO ready",
        "nimops: used many",
        "nimops: used " + "9" * 99,
        "release 1.12.0/1.13.0",
        "model: 5.00G/4.00G",
        "Fetching 16 files: 0",
        "a" * 1000 + " 1.0G/2.0G",
        "\x00\ufffd|1/",
    ],
)
def test_read_progress_of_other_text(text):
    assert read_progress(text) is None


@pytest.mark.parametrize(
    "unit", ["1", "1.", "1/", "Fetching ", "|", "[", "1 / ", "Fetching 1 files:"]
)
def test_read_progress_is_linear(unit):
    """Output is text of the model's author."""
    text = unit * ((1 << 20) // len(unit))
    start = time.process_time()
    read_progress(text)
    read_progress("\r".join(text[at : at + 299] for at in range(0, len(text), 299)))
    assert time.process_time() - start < 5


def test_share_is_never_complete():
    assert (share_of(5, 5), share_of(1, 0), share_of(1, 3)) == (99, None, 33)
