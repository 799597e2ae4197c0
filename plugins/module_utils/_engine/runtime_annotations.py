# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Annotations of a custom resource that the runtime reads, and their safe values.

The runtime validates none of them, and any user who may annotate a resource can set them. The
policy in config/admission refuses the same values; a test keeps the two equal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

PREFIX = "ansible.sdk.operatorframework.io/"
PERIOD = f"{PREFIX}reconcile-period"

# The digit limits keep every value below Go's maximum of 292 years, the policy's limit too.
NUMBER = r"[0-9]{1,9}"
DURATION = (
    r"([0-9]{1,5}(\.[0-9]{1,9})?h)?([0-9]{1,7}(\.[0-9]{1,9})?m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?"
)
_SECONDS = {"h": 3600, "m": 60, "s": 1}


@dataclass(frozen=True)
class Range:
    """Whole numbers or Go durations, from minimum to maximum inclusive."""

    minimum: str
    maximum: str
    is_duration: bool = False

    def holds(self, value: str) -> bool:
        """Whether value is well-formed and in the range."""
        pattern = DURATION if self.is_duration else NUMBER
        if not value or not re.fullmatch(pattern, value):
            return False
        return self._amount(self.minimum) <= self._amount(value) <= self._amount(self.maximum)

    def _amount(self, value: str) -> Fraction:
        if not self.is_duration:
            return Fraction(value)
        parts = re.findall(r"([0-9.]+)([hms])", value)
        return sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction(0))

    def __str__(self) -> str:
        if self.is_duration:
            return f"a duration in h, m and s, from {self.minimum} to {self.maximum}"
        return f"a whole number from {self.minimum} to {self.maximum}"


RANGES = {
    # The runtime puts this many letters v on a command line: a large number exhausts its memory or
    # makes it panic. Ansible supports at most 7.
    f"{PREFIX}verbosity": Range("0", "7"),
    # Below 1 nothing is ever removed, and up to 4 ansible-runner's rotation fails on the runtime's
    # link `latest`. All resources share the volume of the artifacts.
    f"{PREFIX}max-runner-artifacts": Range("5", "20"),
    # A shorter period is a busy loop that occupies workers; during a change the operator requeues
    # sooner anyway. At 0 or below it never requeues, and with an invalid duration the runtime
    # even blocks deletion of the resource.
    PERIOD: Range("30s", "8760h", is_duration=True),
}


def out_of_range(annotations: Mapping[str, str] | None) -> dict[str, str]:
    """The unsafe entries of metadata.annotations: name → error."""
    found = {name: value for name, value in (annotations or {}).items() if name in RANGES}
    return {
        name: f"must be {RANGES[name]}"
        for name, value in sorted(found.items())
        if not RANGES[name].holds(value)
    }
