// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"maps"
	"slices"

	"nimops.nim/apiproxy/internal/digest"
	"nimops.nim/apiproxy/internal/rawjson"
)

// peers are the resources of a kind that affect each other. When one of several is deleted or gets another spec,
// nothing else triggers the others.
type peers struct {
	// changed is called when the set of identities changes.
	changed func()
	// known has the identities by name.
	known map[string]string
}

func newPeers(changed func()) *peers {
	return &peers{changed: changed, known: map[string]string{}}
}

// identity returns the name, UID and generation of a resource; empty if it is being deleted, as it no longer counts.
func identity(of meta) string {
	if rawjson.Find(of.text, "deletionTimestamp") != nil {
		return ""
	}
	return of.name + " " + of.uid + " " + string(rawjson.Find(of.text, "generation"))
}

func (p *peers) observe(of meta, _ []byte, isGone bool) {
	found := identity(of)
	if isGone {
		found = ""
	}
	if p.known[of.name] == found {
		return
	}
	before := len(p.known)
	if found == "" {
		delete(p.known, of.name)
	} else {
		p.known[of.name] = found
	}
	if max(before, len(p.known)) > 1 { // A single resource has no peers.
		p.changed()
	}
}

func (p *peers) retain(listed map[string]bool) {
	for name := range maps.Clone(p.known) {
		if !listed["/"+name] {
			p.observe(meta{name: name}, nil, true)
		}
	}
}

// digestFor returns the digest of the nodes, combined with the identities of the listeners if there are several.
func digestFor(all []listener, nodesDigest string) string {
	var found []string
	for _, item := range all {
		if item.identity != "" {
			found = append(found, item.identity)
		}
	}
	if len(found) < 2 {
		return nodesDigest
	}
	slices.Sort(found)
	return digest.Sum(append(found, nodesDigest)...)
}
