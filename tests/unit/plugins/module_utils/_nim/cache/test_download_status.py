# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a download."""

from __future__ import annotations


def test_renewal_progress(hub):
    cluster = hub()
    cluster.start_download("v2")
    cluster.set_job(name="llama-renewal", active=1, ready=1)
    cluster.job_pods = [{"metadata": {"name": "p"}, "status": {"phase": "Running"}}]
    cluster.log = "Downloading (incomplete total...):  50%|## | 2.0G/4.0G [00:05<00:05, 400MB/s]"
    done = cluster.reconcile()
    download = cluster.cr["status"]["renewal"]["download"]
    assert (download["percent"], download["started"]) == (50, True)
    assert ("Normal", "DownloadProgress") in done.events
    assert "download" not in cluster.cr["status"]
