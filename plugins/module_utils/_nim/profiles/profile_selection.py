# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Selection of the profiles that a NIMCache downloads.

Each rule is a function that returns the reason to drop a profile, or an empty string. Rules are
named after their field of `spec.source.ngc.model`. Two known inaccuracies of version 1 stay, so
that the selection does not change: a profile without a `gpu` tag fits every GPU, and GPUs count
only if `engine` requests TensorRT or `gpus` is given.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field

from .expressions import Expressions
from .model_manifest import Profile

MAX_DROPPED = 100
MAX_SUMMARY_BYTES = 1000
_MAX_ID, _MAX_MESSAGE = 253, 1024
"""Limits in the schema of the status."""

GPU_PRODUCT_LABEL = "nvidia.com/gpu.product"

_DEVICE_SUFFIX = ":10de"
_SHORT = 8

Wanted = t.Mapping[str, t.Any]
Tags = t.Mapping[str, str]


@dataclass(frozen=True)
class Dropped:
    """An unwanted profile, with the rule that drops it and the reason."""

    profile: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{short_id(self.profile)}: {self.message}"


@dataclass(frozen=True)
class Selection:
    """The number of profiles considered, the selected ids, and the dropped profiles."""

    considered: int
    selected: list[str]
    dropped: list[Dropped]
    gpus: list[str] = field(default_factory=list)

    def to_status(self) -> dict[str, t.Any]:
        """The selection as `status.selection`, with at most `MAX_DROPPED` explanations."""
        return {
            "considered": self.considered,
            "selected": list(self.selected),
            "dropped": [
                {
                    "profile": item.profile[:_MAX_ID],
                    "reason": item.rule,
                    "message": item.message[:_MAX_MESSAGE],
                }
                for item in self.dropped[:MAX_DROPPED]
            ],
        }


@dataclass(frozen=True)
class _Case:
    """The tags of one profile, and the wanted properties.

    ``gpus`` are the products found on nodes. ``expressions`` match `product_name_regex`; all
    profiles of a manifest share them.
    """

    wanted: Wanted
    tags: Tags
    gpus: t.Sequence[str]
    expressions: Expressions

    def want(self, field_name: str) -> str:
        return str(self.wanted.get(field_name) or "")

    @property
    def wanted_gpus(self) -> list[Wanted]:
        return list(self.wanted.get("gpus") or [])


Rule = t.Callable[[_Case], str]


def discover_gpus(node_labels: t.Iterable[t.Mapping[str, str]]) -> list[str]:
    """The distinct GPU products of the nodes."""
    products = (labels.get(GPU_PRODUCT_LABEL, "") for labels in node_labels)
    return sorted({product for product in products if product.strip()})


def select_profiles(
    profiles: t.Iterable[Profile],
    wanted: Wanted,
    discovered_gpus: t.Sequence[str],
    version: int,
) -> Selection:
    """Divide profiles into selected and dropped ones.

    ``wanted`` is `spec.source.ngc.model`; ``version`` is the manifest's (1 or 2). Discovered GPUs
    count only if `wanted.gpus` is empty.
    """
    rules = _V1_RULES if version == 1 else _V2_RULES
    gpus = [] if wanted.get("gpus") else list(discovered_gpus)
    selected, dropped = [], []
    considered, expressions = 0, Expressions()
    for profile in profiles:
        considered += 1
        verdict = _first_failed_rule(rules, _Case(wanted, profile.tags, gpus, expressions))
        if verdict is None:
            selected.append(profile.id)
        else:
            dropped.append(Dropped(profile.id, *verdict))
    return Selection(considered, selected, dropped, gpus)


def filters_by_gpu(wanted: Wanted, version: int) -> bool:
    """Whether GPUs count: in version 1 only if the spec requests TensorRT or `gpus`."""
    return version != 1 or bool(wanted.get("gpus")) or _is_in("tensorrt", wanted.get("engine"))


def engine_of(tags: Tags) -> str:
    """The engine of a profile, empty if it has none."""
    return tags.get("llm_engine") or tags.get("model_type") or tags.get("backend") or ""


def gpu_of(tags: Tags) -> str:
    """The GPU of a profile, or the expression for its name; `none` if the profile has neither."""
    return _has(tags.get("gpu") or tags.get("key") or tags.get("product_name_regex"))


def summarize(selection: Selection) -> str:
    """One line of at most `MAX_SUMMARY_BYTES`: selected profiles, and dropped ones with reasons."""
    chosen = len(selection.selected)
    if chosen:
        names = ", ".join(short_id(name) for name in selection.selected[:8])
        head = f"{chosen} of {selection.considered} profiles selected for caching: {names}"
        head += ", …" if chosen > 8 else ""
    else:
        head = f"none of {selection.considered} fits"
    if selection.gpus:
        head += f"; GPUs found: {', '.join(selection.gpus)}"
    if not selection.dropped:
        return _cut(head)
    counts = Counter(item.rule for item in selection.dropped)
    head += "; dropped by " + ", ".join(f"{rule} {count}" for rule, count in counts.items())
    return _cut(f"{head}; " + "; ".join(str(item) for item in selection.dropped))


def short_id(profile: str) -> str:
    """The beginning of a profile's id."""
    return profile if len(profile) <= _SHORT + 4 else f"{profile[:_SHORT]}…"


def _cut(text: str) -> str:
    if len(text.encode()) <= MAX_SUMMARY_BYTES:
        return text
    return text.encode()[: MAX_SUMMARY_BYTES - 3].decode(errors="ignore") + "…"


def _first_failed_rule(rules: t.Sequence[tuple[str, Rule]], case: _Case) -> tuple[str, str] | None:
    for name, rule in rules:
        if message := rule(case):
            return name, message
    return None


def _has(value: str | None) -> str:
    return value if value else "none"


def _is_in(part: str, *texts: str | None) -> bool:
    """Whether a text contains ``part``, ignoring case."""
    return any(part.lower() in (text or "").lower() for text in texts)


def _matches_none(case: _Case) -> str:
    """The reason why no GPU matches `product_name_regex`; empty if one does."""
    no_gpu = f"gpus found {', '.join(case.gpus)}, profile has {gpu_of(case.tags)}"
    pattern = case.tags.get("product_name_regex")
    if not pattern:
        return no_gpu
    is_match, why = case.expressions.search(pattern, case.gpus)
    return "" if is_match else f"{no_gpu}{why and f': {why}'}"


def _device(tags: Tags) -> str:
    return tags.get("gpu_device", "").removesuffix(_DEVICE_SUFFIX)


def _equal_tag(field_name: str, tag: str, *, fold: bool) -> Rule:
    """A rule: a given value must equal a tag."""

    def rule(case: _Case) -> str:
        want, have = case.want(field_name), case.tags.get(tag, "")
        same = want.lower() == have.lower() if fold else want == have
        return "" if not want or same else f"{field_name} wanted {want}, profile has {_has(have)}"

    return rule


def _flag_tag(field_name: str, tag: str, *, fold: bool) -> Rule:
    """A rule: a given flag must equal a tag; a profile without the tag does not match."""

    def rule(case: _Case) -> str:
        flag = case.wanted.get(field_name)
        if flag is None:
            return ""
        want, have = str(bool(flag)).lower(), case.tags.get(tag, "")
        same = want == (have.lower() if fold else have)
        return "" if same else f"{field_name} wanted {want}, profile has {tag} {_has(have)}"

    return rule


def _v1_lora(case: _Case) -> str:
    """Drop profiles with adapters unless they are requested."""
    if case.wanted.get("lora") is None:
        unasked = case.tags.get("feat_lora") == "true"
        return "lora not wanted, profile has feat_lora true" if unasked else ""
    return _flag_tag("lora", "feat_lora", fold=False)(case)


def _v1_backend(tags: Tags) -> str:
    return tags.get("llm_engine") or tags.get("backend") or ""


def _v1_engine(case: _Case) -> str:
    want, have = case.want("engine"), _v1_backend(case.tags)
    if not want or want.removesuffix("_llm") in have:
        return ""
    return f"engine wanted {want}, profile has {_has(have)}"


def _v1_gpus(case: _Case) -> str:
    if not filters_by_gpu(case.wanted, 1):
        return ""
    if not _is_in("tensorrt", _v1_backend(case.tags)):
        return f"gpus need a tensorrt engine, profile has {_has(_v1_backend(case.tags))}"
    if case.wanted_gpus:
        return _v1_wanted_gpus(case)
    return _v1_found_gpus(case) if case.gpus else ""


def _v1_wanted_gpus(case: _Case) -> str:
    """Skip entries without a product; after a matching product, ids of later entries must match."""
    found = False
    products = []
    for entry in case.wanted_gpus:
        product, ids = entry.get("product") or "", entry.get("ids") or []
        if not product:
            continue
        products.append(product)
        found = found or _is_in(product, case.tags.get("gpu"), case.tags.get("key"))
        if found and ids and _device(case.tags) not in ids:
            return f"gpus wanted ids {', '.join(ids)}, profile has {_has(_device(case.tags))}"
    if found:
        return ""
    return f"gpus wanted {_has(', '.join(products))}, profile has {gpu_of(case.tags)}"


def _v1_found_gpus(case: _Case) -> str:
    tag = case.tags.get("gpu", "")
    if any(_is_in(tag, product) for product in case.gpus):
        return ""
    return _matches_none(case)


def _v2_engine(case: _Case) -> str:
    tags, want = case.tags, case.want("engine")
    have = engine_of(tags)
    backend = "tensorrt" if have.lower() == "triton" else have.lower()
    if not want or want.lower().removesuffix("_llm") in backend:
        return ""
    return f"engine wanted {want}, profile has {_has(have)}"


def _v2_gpus(case: _Case) -> str:
    """Accept profiles that can be built for any GPU; others need a matching GPU tag."""
    if case.tags.get("trtllm_buildable", "").lower() == "true":
        return ""
    if case.wanted_gpus:
        return _v2_wanted_gpus(case)
    return _v2_found_gpus(case)


def _v2_wanted_gpus(case: _Case) -> str:
    ids = [value for entry in case.wanted_gpus for value in entry.get("ids") or []]
    products = [entry["product"] for entry in case.wanted_gpus if entry.get("product")]
    device = _device(case.tags)
    if ids and (not device or device not in ids):
        return f"gpus wanted ids {', '.join(ids)}, profile has {_has(device)}"
    named = (case.tags.get("gpu"), case.tags.get("key"))
    if products and not any(_is_in(product, *named) for product in products):
        return f"gpus wanted {', '.join(products)}, profile has {gpu_of(case.tags)}"
    return ""


def _v2_found_gpus(case: _Case) -> str:
    named = [case.tags[tag] for tag in ("gpu", "key") if case.tags.get(tag)]
    if not case.gpus or not (named or case.tags.get("product_name_regex")):
        return ""
    if any(_is_in(name, *case.gpus) for name in named):
        return ""
    return _matches_none(case)


_V1_RULES: tuple[tuple[str, Rule], ...] = (
    ("precision", _equal_tag("precision", "precision", fold=False)),
    ("tensorParallelism", _equal_tag("tensorParallelism", "tp", fold=False)),
    ("qosProfile", _equal_tag("qosProfile", "profile", fold=False)),
    ("lora", _v1_lora),
    ("engine", _v1_engine),
    ("gpus", _v1_gpus),
)
_V2_RULES: tuple[tuple[str, Rule], ...] = (
    ("precision", _equal_tag("precision", "precision", fold=True)),
    ("tensorParallelism", _equal_tag("tensorParallelism", "tp", fold=True)),
    ("qosProfile", _equal_tag("qosProfile", "profile", fold=True)),
    ("lora", _flag_tag("lora", "feat_lora", fold=True)),
    ("buildable", _flag_tag("buildable", "trtllm_buildable", fold=True)),
    ("engine", _v2_engine),
    ("gpus", _v2_gpus),
)
