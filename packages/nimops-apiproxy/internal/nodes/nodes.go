// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package nodes summarizes the labels and annotations of nodes that the GPU stack depends on.
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

// Listener is a kind whose resources depend on nodes, with the path of its collection.
type Listener struct{ APIVersion, Kind, Path string }

// Fleet holds the relevant facts of all nodes. For an irrelevant node, it keeps only a hash of the labels.
type Fleet struct {
	seed maphash.Seed

	mu    sync.Mutex
	nodes map[string]node
}

type node struct {
	hash uint64
	// facts are the relevant labels and annotations of a GPU node; empty for other nodes.
	facts string
	// isLabelled reports whether Node Feature Discovery labelled the node.
	isLabelled bool
	// hasGPU reports whether the node is labelled as a GPU node.
	hasGPU bool
	// upgrade is the state of its driver's upgrade; empty if there is none.
	upgrade string
}

// Counts are numbers of nodes.
type Counts struct {
	GPUs int
	// Upgrades has the nodes by the state of their driver's upgrade.
	Upgrades map[string]int
	// IsLabelled reports whether Node Feature Discovery labelled any node.
	IsLabelled bool
}

// NewFleet returns a Fleet without nodes.
func NewFleet() *Fleet {
	return &Fleet{seed: maphash.MakeSeed(), nodes: map[string]node{}}
}

// Observe records a node and reports whether a relevant fact changed. A kubelet's heartbeat changes nothing and
// costs a hash.
func (f *Fleet) Observe(name string, metadata []byte) bool {
	var labels, request []byte
	rawjson.Members(metadata, func(key []byte, start, end int) bool {
		switch string(key) {
		case "labels":
			labels = metadata[start:end]
		case "annotations":
			request = rawjson.Find(metadata[start:end], requested)
		case "managedFields":
			return false // The last member, and the largest.
		}
		return true
	})
	var hash maphash.Hash
	hash.SetSeed(f.seed)
	_, _ = hash.Write(labels)
	_, _ = hash.Write(request)
	found := node{hash: hash.Sum64()}
	f.mu.Lock()
	defer f.mu.Unlock()
	before, isKnown := f.nodes[name]
	if isKnown && before.hash == found.hash {
		return false
	}
	found.facts, found.isLabelled = facts(labels, request)
	if found.facts != "" {
		found.hasGPU = rawjson.Text(rawjson.Find(labels, present)) == "true"
		found.upgrade = rawjson.Text(rawjson.Find(labels, upgradeState))
	}
	f.nodes[name] = found
	return before.facts != found.facts || before.isLabelled != found.isLabelled
}

// Forget removes a node and reports whether it was relevant.
func (f *Fleet) Forget(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.nodes[name]
	delete(f.nodes, name)
	return before.facts != "" || before.isLabelled
}

// Retain removes the nodes that are missing from a list and reports whether any of them was relevant.
func (f *Fleet) Retain(listed map[string]bool) bool {
	f.mu.Lock()
	var gone []string
	for name := range f.nodes {
		if !listed[name] {
			gone = append(gone, name)
		}
	}
	f.mu.Unlock()
	wasRelevant := false
	for _, name := range gone {
		wasRelevant = f.Forget(name) || wasRelevant
	}
	return wasRelevant
}

// Digest returns a digest of all nodes. It is the same for the same nodes in every process.
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
	return digest.Sum(append(lines, "labelled="+strconv.FormatBool(isLabelled))...)
}

const upgradeState = "nvidia.com/gpu-driver-upgrade-state"

// Count counts the nodes.
func (f *Fleet) Count() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := Counts{Upgrades: map[string]int{}}
	for _, node := range f.nodes {
		found.IsLabelled = found.IsLabelled || node.isLabelled
		if node.hasGPU {
			found.GPUs++
		}
		if node.upgrade != "" {
			found.Upgrades[node.upgrade]++
		}
	}
	return found
}

// facts returns the relevant labels and annotations of a node, and whether Node Feature Discovery labelled it.
func facts(text, request []byte) (string, bool) {
	var labels map[string]string
	if json.Unmarshal(text, &labels) != nil {
		return "", false
	}
	isLabelled, hasDevice := false, false
	for name, value := range labels {
		isLabelled = isLabelled || strings.HasPrefix(name, features)
		hasDevice = hasDevice || (value == "true" && deviceLabel.MatchString(name))
	}
	has := func(name string) bool { return labels[name] != "" }
	if !hasDevice && labels[present] != "true" && !slices.ContainsFunc(marks, has) {
		return "", isLabelled
	}
	lines := []string{"device=" + strconv.FormatBool(hasDevice), present + "=" + labels[present]}
	for _, name := range slices.Concat(marks, details) {
		if value, is := labels[name]; is {
			lines = append(lines, name+"="+value)
		}
	}
	return strings.Join(append(lines, requested+"="+rawjson.Text(request)), " "), isLabelled
}
