# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The progress of a download in the status, and where it is read."""

from __future__ import annotations

import pytest

JOB = "Job/nim/llama-job"
BAR = "Downloading (incomplete total...):  %d%%|#   | %.1fG/100.0G [00:20<00:30, 109MB/s]"
G = 10**9


def start(world, annotation=None, **spec):
    cluster = world(**spec)
    if annotation is not None:
        cluster.cr["metadata"]["annotations"] = {"nimops.nim/progress": annotation}
    cluster.reconcile()
    if "Pod/nim/llama-pod" in cluster.objects:
        cluster.run_pod()
    cluster.reconcile()
    return cluster


def follow(cluster, *lines):
    """A pass while the pod of the Job runs and has printed this."""
    cluster.set_job(active=1, ready=1)
    cluster.job_pods = [
        {"metadata": {"name": "old"}, "status": {"phase": "Failed"}},
        {"metadata": {"name": "llama-job-x"}, "status": {"phase": "Running"}},
    ]
    cluster.log = "\n".join(lines)
    return cluster.reconcile()


def download(cluster):
    status = cluster.cr["status"]["download"]
    return tuple(status.get(key) for key in ("bytes", "totalBytes", "percent"))


def quarters(done):
    return [item.message for item in done.assessment.events if item.reason == "DownloadProgress"]


def test_measure_output(world):
    cluster = start(world)
    done = follow(cluster, BAR % (10, 10))
    assert download(cluster) == (10 * G, 100 * G, 10)
    assert (quarters(done), done.assessment.requeue.follow) == ([], True)
    done = follow(cluster, BAR % (55, 55))
    assert quarters(done) == ["50 % of 93.1 GiB are downloaded"]
    assert quarters(follow(cluster, BAR % (60, 60))) == []
    cluster.set_job("Complete", succeeded=1)
    done = cluster.reconcile()
    assert "download" not in cluster.cr["status"]
    assert not done.assessment.requeue.follow


@pytest.mark.parametrize(
    ("size", "percent"), [("4G", 50), ("0", None), ("much", None), (None, None)]
)
def test_measure_with_given_size(world, size, percent):
    """An annotation that is invalid by now does not stop the download."""
    cluster = start(world)
    if size:
        cluster.cr["metadata"]["annotations"] = {"nimops.nim/model-size": size}
    follow(cluster, "a.safetensors:  40%|####      | 2.00G/5.00G [00:20<00:30, 109MB/s]")
    assert download(cluster)[0] == 2 * G
    assert download(cluster)[2] == percent


def test_measure_never_goes_back(world):
    cluster = start(world)
    follow(cluster, BAR % (30, 30))
    done = follow(cluster, BAR % (5, 5))
    assert (download(cluster), quarters(done)) == ((30 * G, 100 * G, 30), [])
    follow(cluster, "no bar")
    assert download(cluster) == (30 * G, 100 * G, 30)
    follow(cluster, "Downloading (incomplete total...):  20%|# | 40.0G/200.0G [00:20<")
    assert download(cluster) == (40 * G, 200 * G, 20), "the total was incomplete"


@pytest.mark.parametrize(
    ("annotation", "container"),
    [(None, "nim-cache-ctr"), ("output", "nim-cache-ctr"), ("volume", "nim-cache-progress")],
)
def test_log_reads_container(world, annotation, container):
    cluster = start(world, annotation)
    follow(cluster)
    read = cluster.reads["download-log"]
    assert (read.pod, read.container) == ("llama-job-x", container)


def test_log_reads_off(world):
    cluster = start(world, "off")
    done = follow(cluster, BAR % (10, 10))
    assert "download-log" not in done.keys
    assert download(cluster) == (None, None, None)


def test_log_reads_only_while_running(world):
    cluster = start(world)
    cluster.set_job(active=1)
    assert "download-log" not in cluster.reconcile().keys
    ready = world().become_ready()
    assert "download-log" not in ready.reconcile().keys


@pytest.mark.parametrize("proxy", [None, {"certConfigMap": "ca"}])
def test_meter_of_volume(world, proxy):
    pvc = {"create": True, "size": "5Gi", "volumeAccessMode": "ReadWriteOnce", "subPath": "a"}
    spec = {"proxy": proxy} if proxy else {}
    cluster = start(world, "volume", pvc=pvc, **spec)
    containers = cluster.objects[JOB]["spec"]["template"]["spec"]["initContainers"]
    (meter,) = [item for item in containers if item["name"] == "nim-cache-progress"]
    assert (meter["restartPolicy"], meter["image"]) == ("Always", "nvcr.io/nim/meta/llama:1.12.0")
    assert meter["volumeMounts"] == [
        {"name": "nim-cache-volume", "mountPath": "/model-store", "subPath": "a", "readOnly": True}
    ]
    assert "envFrom" not in meter, "it needs no credentials"


@pytest.mark.parametrize("annotation", [None, "output", "off"])
def test_meter_only_on_request(world, annotation):
    cluster = start(world, annotation)
    assert "initContainers" not in cluster.objects[JOB]["spec"]["template"]["spec"]


def test_meter_invalid(world):
    cluster = start(world, "often")
    assert cluster.condition("Stalled")[1:] == (
        "InvalidAnnotation",
        "metadata.annotations[nimops.nim/progress]: 'often' is none of output, volume, off",
    )
