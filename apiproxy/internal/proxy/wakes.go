// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"nimops.nim/apiproxy/internal/digest"
	"nimops.nim/apiproxy/internal/rawjson"
	"nimops.nim/apiproxy/internal/request"
)

// A workload is not told of more often.
const wakeInterval = 500 * time.Millisecond

// wakes tells the runtime of what it does not look at: changes of a child's status, and faults of the
// pods of a workload. Both become a change of an annotation on the child, for which the runtime looks
// at its owner.
type wakes struct {
	fetch    func(ctx context.Context, path string) ([]byte, error)
	streams  *streams
	selector labels.Selector
	faults   *faults
	changed  chan struct{}

	mu sync.Mutex
	// When a workload is due, and when it was last told of.
	due, told map[workload]time.Time
}

func newWakes(upstream *Upstream, open *streams, selector labels.Selector) *wakes {
	w := &wakes{
		fetch: upstream.get, streams: open, selector: selector, changed: make(chan struct{}, 1),
		due: map[workload]time.Time{}, told: map[workload]time.Time{},
	}
	w.faults = newFaults(w.schedule)
	return w
}

// annotate adds the digest to a child, as the runtime shall see it; nil if there is nothing to add.
func (w *wakes) annotate(of request.Collection, object []byte) []byte {
	found := readMeta(object)
	pods := w.faults.summary(workload{of.Group, of.Resource, found.namespace, found.name})
	status := digest.Status(rawjson.Find(object, "status"), of.Group, of.Resource)
	text := digest.Of(status, pods)
	if text == "" {
		return nil
	}
	edited, ok := rawjson.Annotate(object, digest.Annotation, text)
	if !ok {
		return nil
	}
	return edited
}

// schedule makes a workload due, soon.
func (w *wakes) schedule(of workload) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, is := w.due[of]; is {
		return
	}
	now := time.Now()
	at := now
	if earliest := w.told[of].Add(wakeInterval); earliest.After(now) {
		at = earliest
	}
	w.due[of] = at
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// run wakes what is due.
func (w *wakes) run(ctx context.Context) {
	for ctx.Err() == nil {
		of, wait := w.next(time.Now())
		if wait <= 0 {
			w.wake(ctx, of)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-w.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next returns the workload that is due, or how long to wait for one.
func (w *wakes) next(now time.Time) (workload, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait := time.Hour
	var first workload
	for of, at := range w.due {
		if remaining := at.Sub(now); remaining < wait {
			first, wait = of, remaining
		}
	}
	if wait <= 0 {
		delete(w.due, first)
		w.told[first] = now
	}
	for of, at := range w.told {
		if now.Sub(at) > wakeInterval {
			delete(w.told, of)
		}
	}
	return first, wait
}

// wake tells of a workload as it is now, in each watch of it that is open. If the workload cannot be
// read, its next event tells.
func (w *wakes) wake(ctx context.Context, of workload) {
	open := w.streams.telling(of.group, of.resource, of.namespace)
	if len(open) == 0 {
		return
	}
	for _, stream := range open {
		stream.begin()
		defer stream.end()
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	object, err := w.fetch(ctx, open[0].collection.ObjectPath(of.namespace, of.name))
	if err != nil || !w.selects(object) {
		return
	}
	if edited := w.annotate(open[0].collection, object); edited != nil {
		object = edited
	}
	for _, stream := range open {
		_ = stream.add("MODIFIED", object)
	}
}

// selects returns whether the runtime's watches tell of an object. It must not hear of another: it
// would not hear of its end.
func (w *wakes) selects(object []byte) bool {
	var found labels.Set
	_ = json.Unmarshal(rawjson.Find(object, "metadata", "labels"), &found)
	return w.selector.Matches(found)
}
