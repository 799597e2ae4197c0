// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet keeps the facts about the operator's resources that metrics report.
package fleet

import (
	"encoding/json"
	"sync"
	"time"

	"nimops.nim/apiproxy/internal/request"
)

// Fleet has the resources of watches.yaml and their workloads, as the runtime's lists and watches show them. Its methods
// can be called concurrently.
type Fleet struct {
	now func() time.Time

	mu sync.Mutex
	// resources and workloads are keyed by UID.
	resources map[string]*resource
	workloads map[string]*workload
	// lists has the number of lists of each collection, by which a list recognizes what it lacks.
	lists map[request.Collection]int
	// durations has the time that resources took to become ready, by kind.
	durations map[string]*histogram
	// words limits the number of reasons and types of conditions, because each is a label value.
	words *bounded
}

// New returns an empty Fleet.
func New() *Fleet {
	return &Fleet{
		now:       time.Now,
		resources: map[string]*resource{},
		workloads: map[string]*workload{},
		lists:     map[request.Collection]int{},
		durations: map[string]*histogram{},
		words:     newBounded(maxWords),
	}
}

// resource has the facts about a custom resource.
type resource struct {
	collection request.Collection
	// seen is the number of the last list of the collection that contains the resource.
	seen int
	// isAwaited reports whether the resource was seen when it was new, and has not been ready since.
	isAwaited bool
	facts     facts
	// text has the metrics, by family; nil after a change.
	text []string
}

// workload has the facts about a child that runs pods.
type workload struct {
	collection request.Collection
	seen       int
	owner      string
	counts     counts
}

// List announces a list of a collection. The caller must pass each object to Observe, and then call Retain.
func (f *Fleet) List(collection request.Collection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists[collection]++
}

// Retain drops the objects of a collection that were not observed since List.
func (f *Fleet) Retain(collection request.Collection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	current := f.lists[collection]
	for uid, found := range f.resources {
		if found.collection == collection && found.seen < current {
			delete(f.resources, uid)
		}
	}
	for uid, found := range f.workloads {
		if found.collection == collection && found.seen < current {
			f.forgetWorkload(uid)
		}
	}
}

// Observe records a resource of watches.yaml.
func (f *Fleet) Observe(collection request.Collection, object []byte) {
	found, uid := readFacts(object)
	if uid == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	held := f.resources[uid]
	if held == nil {
		held = &resource{collection: collection}
		f.resources[uid] = held
	}
	for at := range found.conditions {
		found.conditions[at].kind = f.words.limit(found.conditions[at].kind)
		found.conditions[at].reason = f.words.limit(found.conditions[at].reason)
	}
	held.seen, held.facts, held.text = f.lists[collection], found, nil
	f.measure(held)
}

// measure records how long a resource took to become ready for the first time. A resource that had a status when it was
// first seen does not count, because it may have been ready before.
func (f *Fleet) measure(held *resource) {
	held.isAwaited = held.isAwaited || held.facts.isNew
	if held.isAwaited && held.facts.isReady {
		held.isAwaited = false
		if f.durations[held.facts.kind] == nil {
			f.durations[held.facts.kind] = &histogram{}
		}
		f.durations[held.facts.kind].add(f.now().Sub(held.facts.created).Seconds())
	}
}

// ObserveChild records a child that runs pods; it ignores other children.
func (f *Fleet) ObserveChild(collection request.Collection, object []byte) {
	if !hasPods(collection) {
		return
	}
	found, uid, owner := readCounts(collection, object)
	if uid == "" || owner == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workloads[uid] = &workload{collection, f.lists[collection], owner, found}
	f.touch(owner)
}

// Forget drops a deleted object.
func (f *Fleet) Forget(uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.resources, uid)
	f.forgetWorkload(uid)
}

func (f *Fleet) forgetWorkload(uid string) {
	if found := f.workloads[uid]; found != nil {
		delete(f.workloads, uid)
		f.touch(found.owner)
	}
}

// touch makes the metrics of a resource due.
func (f *Fleet) touch(uid string) {
	if owner := f.resources[uid]; owner != nil {
		owner.text = nil
	}
}

const (
	// maxWords is the number of different words that label values may have.
	maxWords = 300
	// maxText is the length of a label value.
	maxText = 256
	other   = "Other"
)

// bounded is a set of words with a limit.
type bounded struct {
	limitTo int
	known   map[string]string
}

func newBounded(limit int) *bounded { return &bounded{limit, map[string]string{}} }

// limit returns a known or new word, or else other.
func (b *bounded) limit(word string) string {
	if held, is := b.known[word]; is {
		return held
	}
	if len(b.known) >= b.limitTo || len(word) > maxText {
		return other
	}
	b.known[word] = word
	return word
}

// decode reads a part of an object; unexpected types leave the zero value of their field.
func decode(object []byte, into any) { _ = json.Unmarshal(object, into) }
