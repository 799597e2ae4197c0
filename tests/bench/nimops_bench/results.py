# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""From what was seen to the figures; pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from nimops_harness.proc import Memory
from nimops_harness.runtime import Side

from .figures import Results
from .stats import Summary, divide, mean, median, median_of_means, summarise

SIDES: tuple[Side, ...] = ("stock", "prefork")
BY_ROLE: Side = "role"


@dataclass(frozen=True)
class Sizes:
    """How often and how many; `few` and `many` are the numbers of NIMServices of the second part.

    A round has `warm` reconciles that do not count, then `unchanged` and `created` that do; each
    kind has `turns`; during a restart, a change follows each other after `change_pause` seconds.
    A start is repeated `starts` times beside `foreign` objects of others, and without them.
    """

    rounds: int = 3
    warm: int = 2
    unchanged: int = 10
    created: int = 6
    turns: int = 15
    few: int = 100
    many: int = 500
    change_pause: float = 4.0
    foreign: int = 5000
    starts: int = 2
    drifts: int = 6
    hanging: int = 4
    hanging_changes: int = 15
    loading: int = 100
    loading_wait: float = 60.0
    loading_window: float = 120.0
    told: int = 8
    idle_window: float = 20.0
    steady_begin: float = 620.0  # the second period, as reconcilePeriod is 10 min
    steady_window: float = 120.0
    gpu_few: int = 4
    gpu_many: int = 200
    gpu_idle: float = 60.0
    nodes: int = 1000
    nodes_heartbeat: float = 10.0
    nodes_new: int = 5


QUICK = Sizes(
    rounds=1, warm=1, unchanged=3, created=1, turns=3, few=8, many=12, change_pause=0.5,
    foreign=80, starts=1, drifts=2, hanging=2, hanging_changes=2,
    loading=4, loading_wait=2, loading_window=5, told=2,
    idle_window=3, steady_begin=20, steady_window=5, gpu_few=2, gpu_many=4, gpu_idle=5, nodes=20, nodes_new=1,
)  # fmt: skip
SCALE = Sizes(many=2000, foreign=50_000)


@dataclass
class Samples:
    """What one side showed in seconds, a list for each round."""

    unchanged_wall: list[list[float]] = field(default_factory=list)
    unchanged_cpu: list[list[float]] = field(default_factory=list)
    create_wall: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Few:
    """When each NIMService became Ready, in seconds since they were applied; memory afterwards.

    `plain` are the seconds that their children alone took, without an operator.
    """

    ready: list[float]
    idle: Memory
    plain: float


@dataclass(frozen=True)
class Restart:
    """Seconds from the launch of the operator until its queue was empty, and what happened meanwhile.

    `changes` are the seconds that each change took, `progress` is how many reconciles had finished
    so many seconds after the launch.
    """

    seconds: float
    changes: list[float]
    peak: Memory
    errors: int
    progress: list[tuple[float, int]]


@dataclass(frozen=True)
class Start:
    """Seconds until the first reconcile was over; memory afterwards; seconds until drift was righted."""

    first: float
    idle: Memory
    righted: list[float]


@dataclass(frozen=True)
class Hanging:
    """Seconds until changes were served with nothing else to do, and while model servers hang."""

    calm: list[float]
    hung: list[float]


@dataclass(frozen=True)
class Loading:
    """Cores used while models load, reconciles meanwhile, seconds until each Ready was told."""

    cores: float
    passes: int
    told: list[float]


@dataclass(frozen=True)
class Steady:
    """A part of a period after the first: reconciles, cores, requests a second."""

    seconds: float
    passes: int
    cores: float
    requests: float
    memory: Memory


@dataclass(frozen=True)
class Load:
    """A start with so many: seconds until the first and until all were looked at, CPU seconds, requests.

    `changes` are the seconds that each change took meanwhile.
    """

    count: int
    first: float
    seconds: float
    cpu: float
    requests: float
    idle: Memory
    peak: Memory
    changes: list[float]
    steady: Steady | None


@dataclass(frozen=True)
class Unchanged:
    """Wall and CPU seconds of reconciles of a resource with so many children that had nothing to do."""

    children: int
    wall: list[float]
    cpu: list[float]


@dataclass(frozen=True)
class BringUp:
    """A ClusterPolicy on so many GPU nodes: seconds until it was first notReady and until it was ready.

    `passes` and `cpu` until then; `waiting_cores` are those used while a component does not become
    ready; `plain` are the seconds that its DaemonSets alone took, without an operator.
    """

    count: int
    not_ready: float
    ready: float
    passes: int
    cpu: float
    idle: Memory
    peak: Memory
    idle_cores: float
    unchanged: dict[str, Unchanged]
    waiting_cores: float | None
    plain: float


@dataclass(frozen=True)
class Crowd:
    """GPU nodes at rest: cores used without and with so many heartbeats a second, and reconciles then.

    `told` and `labelled` are the seconds until the policy was told of a new node, and until that
    had its labels.
    """

    idle: Memory
    idle_cores: float
    rate: float
    beating_cores: float
    passes: int
    told: list[float]
    labelled: list[float]


@dataclass
class Seen:
    """All that a bench saw, as far as it came.

    `shares` are, for each operator that ran, the part of the CPU time that its own children used:
    with stock the runs are these, with prefork they are only clients of a parent.
    """

    sizes: Sizes
    cores: int
    samples: dict[Side, Samples] = field(
        default_factory=lambda: {side: Samples() for side in (*SIDES, BY_ROLE)}
    )
    shares: dict[Side, list[float]] = field(
        default_factory=lambda: {side: [] for side in (*SIDES, BY_ROLE)}
    )
    kinds: dict[str, list[float]] = field(default_factory=dict)
    """Wall seconds of unchanged reconciles, by kind."""
    few: Few | None = None
    restart_few: Restart | None = None
    restart_many: Restart | None = None
    hanging: Hanging | None = None
    alone: list[Start] = field(default_factory=list)
    beside: list[Start] = field(default_factory=list)
    loading: Loading | None = None
    load_few: Load | None = None
    load_many: Load | None = None
    gpu_few: BringUp | None = None
    gpu_many: BringUp | None = None
    crowd: Crowd | None = None


def flatten(rounds: t.Iterable[t.Sequence[float]]) -> list[float]:
    return [value for samples in rounds for value in samples]


def make_results(seen: Seen) -> Results:
    """The flat object of results.json; what was not measured is None or absent."""
    results = (
        compare_sides(seen.samples)
        | compare_roles(seen.samples)
        | compare_kinds(seen.kinds)
        | describe_many(seen)
    )
    results |= describe_foreign(seen.alone, seen.beside) | describe_slow(seen.hanging, seen.loading)
    results |= describe_load(seen.load_few, seen.load_many)
    results |= describe_stack(seen.gpu_few, seen.gpu_many) | describe_crowd(seen.crowd)
    results["prefork_was_on"] = is_prefork_on(seen.shares)
    results["cores"] = seen.cores
    results["nimservices_few"] = seen.sizes.few
    results["nimservices_many"] = seen.sizes.many
    results["foreign_objects"] = seen.sizes.foreign
    return results


def is_prefork_on(shares: t.Mapping[Side, t.Sequence[float]]) -> bool | None:
    """Whether each side ran what it is named after, all the time; None if not seen."""
    if not all(shares[side] for side in SIDES):
        return None
    return all(is_share_right(side, share) for side in SIDES for share in shares[side])


def is_share_right(side: Side, share: float) -> bool:
    """Whether a share is one of this side; some runs of a wrong kind are enough to tell."""
    return share > 0.5 if side == "stock" else share < 0.25


def compare_sides(samples: t.Mapping[Side, Samples]) -> Results:
    """Wall: medians of all samples. CPU: medians of the rounds' means, see `median_of_means`."""
    wall = {side: median(flatten(samples[side].unchanged_wall)) for side in SIDES}
    cpu = {side: median_of_means(samples[side].unchanged_cpu) for side in SIDES}
    create = {side: median(flatten(samples[side].create_wall)) for side in SIDES}
    return {
        "unchanged_wall_ratio": divide(wall["stock"], wall["prefork"]),
        "unchanged_cpu_ratio": divide(cpu["stock"], cpu["prefork"]),
        "create_wall_ratio": divide(create["stock"], create["prefork"]),
        "unchanged_median_s": wall["prefork"],
        "unchanged_stock_median_s": wall["stock"],
        "unchanged_cpu_s": cpu["prefork"],
        "unchanged_stock_cpu_s": cpu["stock"],
        "create_median_s": create["prefork"],
        "create_stock_median_s": create["stock"],
    }


def compare_roles(samples: t.Mapping[Side, Samples]) -> Results:
    """What the tasks of a role take, beside the operator's one task."""
    by_role, by_task = samples.get(BY_ROLE, Samples()), samples["prefork"]
    found: Results = {}
    for name, figure in (("unchanged_wall", "unchanged"), ("create_wall", "create")):
        role, task = (median(flatten(getattr(side, name))) for side in (by_role, by_task))
        found |= {f"{figure}_role_s": role, f"{figure}_role_ratio": divide(role, task)}
    return found


def compare_kinds(kinds: t.Mapping[str, list[float]]) -> Results:
    """Medians of the NeMo kinds by that of the NIMService; `nemo_ratio` is the largest."""
    ratios = {
        kind: divide(median(walls), median(kinds.get("NIMService", [])))
        for kind, walls in kinds.items()
        if kind != "NIMService"
    }
    known = [ratio for ratio in ratios.values() if ratio is not None]
    return {
        **{f"{kind.lower()}_ratio": ratio for kind, ratio in ratios.items()},
        "nemo_ratio": max(known) if known else None,
    }


def describe_many(seen: Seen) -> Results:
    """What hundreds of NIMServices showed."""
    results: Results = {}
    few, some, many = seen.few, seen.restart_few, seen.restart_many
    if few:
        results["hundred_ready_s"] = few.ready[-1]
        results["hundred_ready_median_s"] = median(few.ready)
        results["hundred_plain_s"] = few.plain
        results["rss_idle_mib"] = few.idle.pss
        results["rss_idle_sum_mib"] = few.idle.rss
    if some:
        results["restart_100_s"] = some.seconds
        results["restart_100_errors"] = some.errors
        results["change_during_restart_100_s"] = median(some.changes)
    if many:
        results["restart_500_s"] = many.seconds
        results["restart_500_errors"] = many.errors
        results["change_during_restart_s"] = median(many.changes)
        results["change_during_restart_max_s"] = max(many.changes)
        results["rss_peak_mib"] = many.peak.pss
        results["rss_peak_sum_mib"] = many.peak.rss
    if some and many:
        growth = divide(many.seconds, some.seconds)
        results["restart_growth"] = divide(growth, seen.sizes.many / seen.sizes.few)
    return results


def describe_foreign(alone: t.Sequence[Start], beside: t.Sequence[Start]) -> Results:
    """What objects of others cost: figures with them by those without."""
    if not alone or not beside:
        return {}
    memory = [median([start.idle.pss for start in starts]) for starts in (alone, beside)]
    first = [median([start.first for start in starts]) for starts in (alone, beside)]
    righted = flatten(start.righted for start in beside)
    return {
        "foreign_memory_growth": divide(memory[1], memory[0]),
        "foreign_memory_mib": memory[1],
        "foreign_start_growth": divide(first[1], first[0]),
        "foreign_start_s": first[1],
        "foreign_drift_s": median(righted),
        "foreign_drift_max_s": max(righted, default=None),
    }


def describe_slow(hanging: Hanging | None, loading: Loading | None) -> Results:
    """What models cost others while they hang, and while they load."""
    results: Results = {}
    if hanging:
        results |= {
            "change_calm_s": median(hanging.calm),
            "change_calm_max_s": max(hanging.calm, default=None),
            "change_while_hanging_s": median(hanging.hung),
            "change_while_hanging_max_s": max(hanging.hung, default=None),
        }
    if loading:
        results |= {
            "loading_cores": loading.cores,
            "loading_reconciles": loading.passes,
            "ready_told_s": median(loading.told),
            "ready_told_max_s": max(loading.told, default=None),
        }
    return results


def describe_load(few: Load | None, many: Load | None) -> Results:
    """What thousands cost, and how that grew from a few: 1 is linear."""
    results: Results = {}
    if many:
        results |= {
            "scale_first_s": many.first,
            "scale_start_s": many.seconds,
            "scale_start_cpu_s": many.cpu,
            "scale_start_requests_s": divide(many.requests, many.seconds),
            "scale_change_s": median(many.changes),
            "scale_change_max_s": max(many.changes, default=None),
            "scale_idle_mib": many.idle.pss,
            "scale_peak_mib": many.peak.pss,
        }
    if many and many.steady:
        results |= {
            "scale_steady_cores": many.steady.cores,
            "scale_steady_requests_s": many.steady.requests,
            "scale_steady_reconciles_s": divide(many.steady.passes, many.steady.seconds),
            "scale_steady_mib": many.steady.memory.pss,
        }
    if few and many:
        times = many.count / few.count
        for name, above, below in (
            ("start", many.seconds, few.seconds),
            ("cpu", many.cpu, few.cpu),
            ("requests", many.requests, few.requests),
            ("memory", many.idle.pss, few.idle.pss),
        ):
            results[f"scale_{name}_growth"] = divide(divide(above, below), times)
    return results


def describe_stack(few: BringUp | None, many: BringUp | None) -> Results:
    """What the GPU stack cost, and how that grew with the nodes: 1 is linear."""
    results: Results = {}
    for name, seen in (("few", few), ("many", many)):
        if seen:
            figures: Results = {
                "not_ready_s": seen.not_ready,
                "ready_s": seen.ready,
                "passes": seen.passes,
                "cpu_s": seen.cpu,
                "idle_mib": seen.idle.pss,
                "peak_mib": seen.peak.pss,
                "idle_cores": seen.idle_cores,
                "plain_s": seen.plain,
                **compare_unchanged(seen.unchanged),
            }
            results |= {f"gpu_{name}_{key}": value for key, value in figures.items()}
    if few:
        results["gpu_waiting_cores"] = few.waiting_cores
    if few and many:
        times = many.count / few.count
        results["gpu_ready_growth"] = divide(divide(many.ready, few.ready), times)
        results["gpu_cpu_growth"] = divide(divide(many.cpu, few.cpu), times)
    return results


def compare_unchanged(unchanged: t.Mapping[str, Unchanged]) -> Results:
    """An unchanged ClusterPolicy, and for each child by a NIMService; CPU: see `median_of_means`."""
    policy, service = unchanged["ClusterPolicy"], unchanged["NIMService"]
    wall = [divide(median(seen.wall), seen.children) for seen in (policy, service)]
    cpu = [divide(mean(seen.cpu), seen.children) for seen in (policy, service)]
    return {
        "children": policy.children,
        "unchanged_s": median(policy.wall),
        "unchanged_cpu_s": mean(policy.cpu),
        "child_wall_ratio": divide(*wall),
        "child_cpu_ratio": divide(*cpu),
    }


def describe_crowd(crowd: Crowd | None) -> Results:
    """What nodes at rest cost, and how soon a new one has its labels."""
    if not crowd:
        return {}
    return {
        "nodes_idle_mib": crowd.idle.pss,
        "nodes_idle_cores": crowd.idle_cores,
        "nodes_heartbeats_s": crowd.rate,
        "nodes_beating_cores": crowd.beating_cores,
        "nodes_beating_reconciles": crowd.passes,
        "node_told_s": median(crowd.told),
        "node_told_max_s": max(crowd.told, default=None),
        "node_labelled_s": median(crowd.labelled),
        "node_labelled_max_s": max(crowd.labelled, default=None),
    }


def make_spreads(seen: Seen) -> dict[str, Summary]:
    """The samples behind some figures, in short, by the figure's name."""
    prefork = seen.samples["prefork"]
    spreads = {
        "unchanged_median_s": summarise(flatten(prefork.unchanged_wall)),
        "unchanged_wall_ratio": summarise_ratios(seen.samples, "unchanged_wall", median),
        "unchanged_cpu_ratio": summarise_ratios(seen.samples, "unchanged_cpu", mean),
        "create_wall_ratio": summarise_ratios(seen.samples, "create_wall", median),
        "change_during_restart_s": summarise(
            seen.restart_many.changes if seen.restart_many else []
        ),
        "change_while_hanging_s": summarise(seen.hanging.hung if seen.hanging else []),
        "ready_told_s": summarise(seen.loading.told if seen.loading else []),
        "scale_change_s": summarise(seen.load_many.changes if seen.load_many else []),
        "node_labelled_s": summarise(seen.crowd.labelled if seen.crowd else []),
        "foreign_drift_s": summarise(flatten(start.righted for start in seen.beside)),
    }
    return {name: summary for name, summary in spreads.items() if summary}


def summarise_ratios(
    samples: t.Mapping[Side, Samples],
    name: str,
    middle: t.Callable[[t.Sequence[float]], float | None],
) -> Summary | None:
    """The ratio in each round, whose two sides ran right after one another."""
    above, below = ([middle(values) for values in getattr(samples[side], name)] for side in SIDES)
    ratios = [divide(*pair) for pair in zip(above, below, strict=False)]
    return summarise([ratio for ratio in ratios if ratio is not None])


def make_samples(seen: Seen) -> dict[str, t.Any]:
    """What the chart is drawn of: seconds in lists."""
    restarts = {
        str(count): restart.progress
        for count, restart in (
            (seen.sizes.few, seen.restart_few),
            (seen.sizes.many, seen.restart_many),
        )
        if restart
    }
    sides = {
        name: {side: flatten(getattr(seen.samples[side], name)) for side in SIDES}
        for name in ("unchanged_wall", "unchanged_cpu", "create_wall")
    }
    return sides | {"ready": seen.few.ready if seen.few else [], "restarts": restarts}
