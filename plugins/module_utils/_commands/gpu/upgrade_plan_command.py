# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Simulates a driver upgrade."""

from __future__ import annotations

import json
import typing as t

from ..._base.errors import NimError
from ..._gpu.cluster import POLICIES
from ..command import CONNECTION_SPEC, Command
from .forecast import (
    forecast_upgrade,
)
from .gpu_text import (
    summarize_forecast,
    write_forecast,
)
from .reading import (
    read_policies,
    read_simulation,
    read_upgrades,
)

_GUARDS = {"auto": None, "on": True, "off": False}


class GpuUpgradePlanCommand(Command):
    """Reads and simulates; writes nothing."""

    spec = CONNECTION_SPEC | {
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
        "assume_outdated": {"type": "bool", "default": False},
        "guard": {"type": "str", "choices": list(_GUARDS), "default": "auto"},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print the plan."""
        client = self.connect(arguments)
        policies = read_policies(client)
        if not policies:
            raise NimError(f"there is no {POLICIES.kind}, so no drivers are upgraded: create one")
        upgrades = read_upgrades(client, policies[0], is_assumed=arguments["assume_outdated"])
        for why in upgrades.reasons:
            self.print_message(why)
        if not upgrades.policies:
            return {
                "changed": False,
                "plan": {},
                "problems": [],
                "msg": "; ".join(upgrades.reasons),
            }
        simulation = read_simulation(client, _GUARDS[arguments["guard"]])
        if arguments["assume_outdated"]:
            simulation.outdate()
        found = forecast_upgrade(simulation, upgrades.policies)
        if arguments["output"] == "json":
            self.print_data(json.dumps(found.to_dict(), indent=2))
        else:
            self.print_data(write_forecast(found))
        return {
            "changed": False,
            "plan": found.to_dict(),
            "problems": [item.node for item in found.problems],
            "msg": summarize_forecast(found),
        }
