# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nemo.customizer.spec import (
    WandB,
    Workspace,
)
from ansible_collections.nimops.nim.plugins.module_utils._nemo.spec import SecretKey


def test_parse_spec_minimal(around: t.Any) -> None:
    spec = around.set("trainingConfig.configMap", None).app.spec
    assert (spec.datastore, spec.entitystore, spec.mlflow) == (
        "http://ds",
        "http://es",
        "http://ml",
    )
    assert (spec.tools, spec.models, spec.scheduler) == ("r.example/tools:1", "models", "volcano")
    assert spec.wandb == WandB("wandb", "apiKey", "encryptionKey", "null", "nvidia-nemo-customizer")
    assert (spec.claim.name, spec.claim.field) == ("cu-pvc", "spec.trainingConfig.modelPVC")
    assert (spec.training.config_map, spec.training.image) == ("", "r.example/train:2")
    assert spec.training.workspace == Workspace("/pvc/workspace", "", "", "")
    assert (spec.download_jobs.ngc, spec.download_jobs.hf, spec.telemetry) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "attribute", "default"),
    [("ngcAPISecret", "ngc", "NGC_API_KEY"), ("hfSecret", "hf", "HF_TOKEN")],
)
def test_parse_spec_credentials(around: t.Any, field: str, attribute: str, default: str) -> None:
    for given, key in (({"name": "s"}, default), ({"name": "s", "key": "k"}, "k")):
        jobs = around.set(f"modelDownloadJobs.{field}", given).app.spec.download_jobs
        assert getattr(jobs, attribute) == SecretKey("s", key)
