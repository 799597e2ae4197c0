# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from nimops_release.contents.component import Component
from nimops_release.contents.licenses import recognize, to_table

FOUND = [
    Component("golang", "b", "v1", "a.example", texts=("of MIT", "of ISC")),
    Component("deb", "z", "1", "debian", licenses=("GPL-2+", "Expat"), texts=("never read",)),
    Component("pypi", "nobody-knows", "1", texts=("strange",)),
    Component("deb", "z", "1", "debian", licenses=("GPL-2+", "Expat")),
]
KNOWN = {"of MIT": ["MIT"], "of ISC": ["ISC"], "strange": []}


def test_recognize_undeclared():
    asked = []

    def how(texts):
        asked.extend(texts)
        return KNOWN

    names = {item.full_name: item.licenses for item in recognize(FOUND, how)}
    assert names == {
        "z": ("GPL-2+", "Expat"),
        "a.example/b": ("ISC", "MIT"),
        "nobody-knows": (),
    }
    assert asked == sorted(KNOWN)


def test_to_table_unknown():
    assert to_table(recognize(FOUND, lambda texts: KNOWN)) == (
        "kind,name,version,license\n"
        "deb,z,1,GPL-2+; Expat\n"
        "golang,a.example/b,v1,ISC; MIT\n"
        "pypi,nobody-knows,1,unknown\n"
    )
