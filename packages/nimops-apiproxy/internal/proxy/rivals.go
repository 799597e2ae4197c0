// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"maps"
	"slices"

	"nimops.nim/apiproxy/internal/digest"
	"nimops.nim/apiproxy/internal/rawjson"
)

// rivals are the resources of a kind that concern each other: when one of several goes, or wants something else,
// nothing else tells the others.
type rivals struct {
	// changed is told when others are there than before.
	changed func()
	// By name: what tells them apart, and each from what it was before.
	known map[string]string
}

func newRivals(changed func()) *rivals {
	return &rivals{changed: changed, known: map[string]string{}}
}

// rival tells a resource from others, and from itself with another spec; empty if it is being deleted, as it counts no more.
func rival(of meta) string {
	if rawjson.Find(of.text, "deletionTimestamp") != nil {
		return ""
	}
	return of.name + " " + of.uid + " " + string(rawjson.Find(of.text, "generation"))
}

func (r *rivals) see(of meta, _ []byte, isGone bool) {
	found := rival(of)
	if isGone {
		found = ""
	}
	if r.known[of.name] == found {
		return
	}
	before := len(r.known)
	if found == "" {
		delete(r.known, of.name)
	} else {
		r.known[of.name] = found
	}
	if max(before, len(r.known)) > 1 { // To one alone nothing happens.
		r.changed()
	}
}

func (r *rivals) keep(listed map[string]bool) {
	for name := range maps.Clone(r.known) {
		if !listed["/"+name] {
			r.see(meta{name: name}, nil, true)
		}
	}
}

// digestFor sums up nodes, and who is told of them if those are several.
func digestFor(all []listener, ofNodes string) string {
	var found []string
	for _, item := range all {
		if item.rival != "" {
			found = append(found, item.rival)
		}
	}
	if len(found) < 2 {
		return ofNodes
	}
	slices.Sort(found)
	return digest.Of(append(found, ofNodes)...)
}
