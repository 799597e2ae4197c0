# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Avoid parsing the documentation of plugins without options, which ansible-core repeats for each use."""

from __future__ import annotations

from typing import Any

# The documentation of plugins without options, by kind, name and path.
_without_options: dict[tuple[str, str, str], str] = {}


def install() -> None:
    """Parse the documentation of a plugin again only if it changed or has options."""
    from ansible import constants
    from ansible.plugins.loader import PluginLoader, get_plugin_class

    stock = PluginLoader._load_config_defs

    def load(self: Any, name: str, module: Any, path: str) -> None:
        text = getattr(module, "DOCUMENTATION", "")
        key = self.class_name, name, path
        if self.class_name and _without_options.get(key) == text:
            return
        stock(self, name, module, path)
        if self.class_name and not constants.config.has_configuration_definition(
            get_plugin_class(self.class_name), name
        ):
            _without_options[key] = text

    PluginLoader._load_config_defs = load
