# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists the profiles of a model manifest, selected by the same rules as in a NIMCache."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.types import Json
from ..._nim.profiles.model_manifest import ModelManifest, Profile
from ..._nim.profiles.profile_selection import (
    GPU_PRODUCT_LABEL,
    engine_of,
    filters_by_gpu,
    gpu_of,
    select_profiles,
    short_id,
)
from ..text import write_table

_WISHES = {
    "engine": "engine",
    "tensor_parallelism": "tensorParallelism",
    "precision": "precision",
    "qos_profile": "qosProfile",
    "lora": "lora",
    "buildable": "buildable",
}
"""option → field of `spec.source.ngc.model`"""

_COLUMNS = ("ID", "MODEL", "GPU", "ENGINE", "TP/PP", "PRECISION", "QOS", "LORA", "FITS", "WHY NOT")
_MAX_CELL = 40


@dataclass(frozen=True)
class Offer:
    """One profile; ``rule``: the field of `spec.source.ngc.model` that excludes it, or empty."""

    profile: Profile
    rule: str = ""
    message: str = ""

    @property
    def fits(self) -> bool:
        """Whether a NIMCache would download it."""
        return not self.rule

    def to_dict(self) -> Json:
        """The offer as plain data."""
        profile = self.profile
        return {
            "id": profile.id,
            "model": profile.model,
            "release": profile.release,
            "fits": self.fits,
            "rule": self.rule,
            "message": self.message,
            "tags": dict(profile.tags),
        }

    def cells(self) -> list[str]:
        """The offer as a row of the table."""
        tags = self.profile.tags
        cells = [
            short_id(self.profile.id),
            self.profile.model,
            gpu_of(tags),
            engine_of(tags),
            f"{tags.get('tp') or '-'}/{tags.get('pp') or '-'}",
            tags.get("precision", ""),
            tags.get("profile", ""),
            tags.get("feat_lora", ""),
            "yes" if self.fits else "no",
        ]
        return [_cut(cell) or "-" for cell in cells] + [self.message or "-"]


@dataclass(frozen=True)
class Offers:
    """All profiles, matching ones first; ``products``: the GPUs of the nodes."""

    version: int
    wanted: Json
    products: list[str]
    offers: list[Offer]
    notes: list[str]

    @property
    def fitting(self) -> list[str]:
        """The IDs of the matching profiles."""
        return [offer.profile.id for offer in self.offers if offer.fits]

    def to_dict(self) -> Json:
        """The offers as plain data."""
        return {
            "manifest_version": self.version,
            "wanted": self.wanted,
            "gpu_products": self.products,
            "fitting": self.fitting,
            "profiles": [offer.to_dict() for offer in self.offers],
            "notes": self.notes,
        }

    def to_text(self) -> str:
        """The offers as a table."""
        return write_table(_COLUMNS, [offer.cells() for offer in self.offers])


def list_offers(
    manifest: ModelManifest, wanted: t.Mapping[str, t.Any], products: t.Sequence[str]
) -> Offers:
    """The result for each profile, given these criteria and the nodes' GPU products."""
    model = {key: value for key, value in wanted.items() if key != "profiles"}
    offers = [_judge(profile, model, products, manifest.version) for profile in manifest.profiles]
    offers.sort(key=lambda offer: not offer.fits)
    notes = _note(manifest.version, wanted, products)
    return Offers(manifest.version, model, list(products), offers, notes)


def to_model(arguments: t.Mapping[str, t.Any]) -> Json:
    """The options as `spec.source.ngc.model`.

    NimError if an entry of the option gpus is neither a product nor a map of product and ids.
    """
    given = {
        field: arguments[option]
        for option, field in _WISHES.items()
        if arguments[option] is not None
    }
    if arguments["gpus"]:
        given["gpus"] = [_gpu(entry) for entry in arguments["gpus"]]
    return given


def _gpu(entry: t.Any) -> Json:
    if isinstance(entry, str):
        return {"product": entry}
    known = {"product": str, "ids": list}
    if not isinstance(entry, dict) or not entry or set(entry) - set(known):
        raise NimError(f"gpus: {entry!r} is neither a product nor a map of product and ids")
    if not all(isinstance(value, known[key]) for key, value in entry.items()):
        raise NimError(f"gpus: in {entry!r}, product must be a string and ids a list")
    found = dict(entry)
    if "ids" in entry:
        found["ids"] = [str(value) for value in entry["ids"]]
    return found


def _judge(
    profile: Profile, wanted: t.Mapping[str, t.Any], products: t.Sequence[str], version: int
) -> Offer:
    dropped = select_profiles([profile], wanted, products, version).dropped
    return Offer(profile, dropped[0].rule, dropped[0].message) if dropped else Offer(profile)


def _note(version: int, wanted: t.Mapping[str, t.Any], products: t.Sequence[str]) -> list[str]:
    """Explanatory notes for the table."""
    notes = []
    if wanted.get("profiles"):
        named = ", ".join(map(short_id, wanted["profiles"]))
        notes.append(
            f"the NIMCache lists its profiles ({named}): it downloads them even if they do not fit"
        )
    if not filters_by_gpu(wanted, version):
        notes.append(
            "GPUs are ignored: the manifest is of version 1, where they only count for"
            " engine tensorrt_llm, or if gpus is set"
        )
    elif not wanted.get("gpus") and not products:
        notes.append(f"GPUs are ignored: no node has the label {GPU_PRODUCT_LABEL}")
    return notes


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…"
