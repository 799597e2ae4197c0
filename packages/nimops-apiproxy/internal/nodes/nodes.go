// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package nodes sums up what matters about a cluster's nodes to who brings GPUs up on them.
package nodes

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nimops.nim/apiproxy/internal/digest"
	"nimops.nim/apiproxy/internal/rawjson"
)

// Listener is a kind whose resources depend on nodes, and where they are.
type Listener struct{ APIVersion, Kind, Path string }

// Fleet is what matters of all nodes. Of a node that does not matter, a hash of its labels is kept.
type Fleet struct {
	seed maphash.Seed

	mu    sync.Mutex
	nodes map[string]node
}

type node struct {
	hash uint64
	// What matters of a node with a GPU; empty for others.
	facts string
	// Whether Node Feature Discovery has labelled it.
	isLabelled bool
}

// NewFleet knows no node yet.
func NewFleet() *Fleet {
	return &Fleet{seed: maphash.MakeSeed(), nodes: map[string]node{}}
}

// See takes notice of a node, and returns whether that changes anything that matters. Heartbeats of
// kubelets change nothing, and cost a hash.
func (f *Fleet) See(name string, metadata []byte) bool {
	var labels, wish []byte
	rawjson.Members(metadata, func(key []byte, start, end int) bool {
		switch string(key) {
		case "labels":
			labels = metadata[start:end]
		case "annotations":
			wish = rawjson.Find(metadata[start:end], requested)
		case "managedFields":
			return false // The last member, and the largest.
		}
		return true
	})
	var hash maphash.Hash
	hash.SetSeed(f.seed)
	_, _ = hash.Write(labels)
	_, _ = hash.Write(wish)
	found := node{hash: hash.Sum64()}
	f.mu.Lock()
	defer f.mu.Unlock()
	before, isKnown := f.nodes[name]
	if isKnown && before.hash == found.hash {
		return false
	}
	found.facts, found.isLabelled = facts(labels, wish)
	f.nodes[name] = found
	return before.facts != found.facts || before.isLabelled != found.isLabelled
}

// Forget returns whether the node mattered.
func (f *Fleet) Forget(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.nodes[name]
	delete(f.nodes, name)
	return before.facts != "" || before.isLabelled
}

// Keep forgets nodes that a list did not have, and returns whether any of them mattered.
func (f *Fleet) Keep(listed map[string]bool) bool {
	f.mu.Lock()
	var gone []string
	for name := range f.nodes {
		if !listed[name] {
			gone = append(gone, name)
		}
	}
	f.mu.Unlock()
	mattered := false
	for _, name := range gone {
		mattered = f.Forget(name) || mattered
	}
	return mattered
}

// Digest sums up all nodes: the same for the same nodes, whoever asks.
func (f *Fleet) Digest() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	isLabelled := false
	var lines []string
	for name, node := range f.nodes {
		isLabelled = isLabelled || node.isLabelled
		if node.facts != "" {
			lines = append(lines, name+" "+node.facts)
		}
	}
	slices.Sort(lines)
	return digest.Of(append(lines, "labelled="+strconv.FormatBool(isLabelled))...)
}

func facts(text, wish []byte) (string, bool) {
	var labels map[string]string
	if json.Unmarshal(text, &labels) != nil {
		return "", false
	}
	isLabelled := false
	for name := range labels {
		isLabelled = isLabelled || strings.HasPrefix(name, features)
	}
	has := func(name string) bool { return labels[name] != "" }
	hasDevice := slices.ContainsFunc(devices, func(name string) bool { return labels[name] == "true" })
	if !hasDevice && labels[present] != "true" && !slices.ContainsFunc(marks, has) {
		return "", isLabelled
	}
	lines := []string{"device=" + strconv.FormatBool(hasDevice), present + "=" + labels[present]}
	for _, name := range slices.Concat(marks, details) {
		if value, is := labels[name]; is {
			lines = append(lines, name+"="+value)
		}
	}
	return strings.Join(append(lines, requested+"="+rawjson.Text(wish)), " "), isLabelled
}
