# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.templates import (
    resolve_spec,
    template_specs,
)

CR = {"apiVersion": "v1", "kind": "NIMService", "metadata": {"name": "llm", "uid": "1"}}
GPU = {"claimCreationSpec": {"devices": [{"name": "gpu"}]}}


def devices(spec):
    return [item["name"] for item in spec["spec"]["devices"]["requests"]]


def test_template_specs():
    named = {
        "claimCreationSpec": {"generateName": "big", "devices": [{"name": "a"}, {"name": "b"}]}
    }
    resources = [GPU, {"resourceClaimName": "x"}, named]
    specs = template_specs("llm", resources, {"l": "1"}, {"a": "2"})
    assert {name: devices(spec) for name, spec in specs.items()} == {
        "claimtemplate-df94b6548-0": ["gpu"],
        "big-df94b6548-2": ["a", "b"],
    }
    for spec in specs.values():
        assert spec["metadata"] == {"labels": {"l": "1"}, "annotations": {"a": "2"}}


def test_template_specs_error():
    selector = {"key": "k", "op": "LessThan", "value": {"boolValue": True}}
    device = {"name": "gpu", "attributeSelectors": [selector]}
    resources = [GPU, {"claimCreationSpec": {"devices": [device]}}]
    with pytest.raises(NimError) as raised:
        template_specs("llm", resources, {}, {})
    assert str(raised.value) == (
        'failed to reconcile DRAResource claimtemplate-df94b6548-1: invalid operator "<" for bool'
        " type (spec.draResources[1].claimCreationSpec.devices[0].attributeSelectors[0].op: use"
        " Equal or NotEqual)"
    )
    assert raised.value.reason == "ResourceClaimTemplateFailed"


def spec_of(name, label="1"):
    return {
        "metadata": {"labels": {"l": label}},
        "spec": {"devices": {"requests": [{"name": name}]}},
    }


def live(spec, *owners):
    return {"metadata": {"name": "t", "ownerReferences": list(owners)}, "spec": spec}


OURS = owner_reference(CR)
OTHERS = OURS | {"uid": "2"}


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(None, spec_of("gpu"), id="absent"),
        pytest.param(live(spec_of("gpu", "0"), OURS), spec_of("gpu", "0"), id="other labels"),
        pytest.param(live(spec_of("gpus"), OURS), spec_of("gpus"), id="ours"),
        pytest.param(live(spec_of("gpu")), spec_of("gpu"), id="the same, no owner"),
        pytest.param(live(spec_of("gpus"), OTHERS), spec_of("gpu"), id="another owner's: refused"),
    ],
)
def test_resolve_spec(found, wanted):
    assert resolve_spec(CR, found, spec_of("gpu")) == wanted


def test_resolve_spec_refuses_other_devices():
    with pytest.raises(
        NimError, match='ResourceClaimTemplate "t" exists and requests different devices'
    ) as raised:
        resolve_spec(CR, live(spec_of("gpus")), spec_of("gpu"))
    assert raised.value.reason == "ResourceClaimTemplateFailed"


def test_resolve_spec_adopts_expressions_without_presence():
    """Templates of the reference and of earlier releases are not changed: they are immutable."""
    selector = {"key": "memory", "value": "40Gi"}
    device = {"name": "gpu", "capacitySelectors": [selector]}
    (wanted,) = template_specs(
        "llm", [{"claimCreationSpec": {"devices": [device]}}], {}, {}
    ).values()
    earlier = copy.deepcopy(wanted)
    cel = earlier["spec"]["devices"]["requests"][0]["exactly"]["selectors"][1]["cel"]
    cel["expression"] = cel["expression"].split(" && ")[1]
    assert resolve_spec(CR, live(earlier), wanted) == earlier != wanted
