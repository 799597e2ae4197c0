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

const (
	// A workload is not told of more often.
	wakeInterval = 500 * time.Millisecond
	// How long the runtime does not hear of a rollout's progress: by then, it is often over.
	progressInterval = 5 * time.Second
	// Part of the status, as it is written with it, and of no meaning to an owner.
	revision = "deployment.kubernetes.io/revision"
)

// wakes tells the runtime of what it does not look at: changes of a child's status, and faults of the
// pods of a workload. Both become a change of an annotation on the child, for which the runtime looks
// at its owner.
type wakes struct {
	fetch    func(ctx context.Context, path string) ([]byte, error)
	streams  *streams
	selector labels.Selector
	faults   *faults
	changed  chan struct{}

	mu               sync.Mutex
	progressInterval time.Duration
	// When a workload is due, and when it was last told of.
	due, told map[workload]time.Time
	// When the progress of a rollout is due, and what the runtime has been told of it.
	late map[workload]time.Time
	said map[workload]said
}

// said is what the runtime has been told of the status of a rollout.
type said struct{ uid, now, progress string }

func newWakes(upstream *Upstream, open *streams, selector labels.Selector) *wakes {
	w := &wakes{
		fetch: upstream.get, streams: open, selector: selector, changed: make(chan struct{}, 1),
		due: map[workload]time.Time{}, told: map[workload]time.Time{},
		late: map[workload]time.Time{}, said: map[workload]said{}, progressInterval: progressInterval,
	}
	w.faults = newFaults(w.schedule)
	return w
}

// annotate returns a child as the runtime shall see it: its status is told by the digest alone, and so
// not by managedFields, which have other entries with almost each write of it. isDue tells of its
// progress, too.
func (w *wakes) annotate(of request.Collection, object []byte, isDue bool) []byte {
	found := readMeta(object)
	child := workload{of.Group, of.Resource, found.namespace, found.name}
	pods := w.faults.summary(child)
	now, progress := digest.Status(object, of.Group, of.Resource)
	if digest.HasProgress(of.Group, of.Resource) {
		progress = w.say(child, said{found.uid, now, progress}, isDue)
	}
	object = rawjson.WithoutStatusFields(object)
	if of.Resource == "deployments" {
		object = rawjson.WithoutAnnotation(object, revision)
	}
	if text := digest.Of(now, progress, pods); text != "" {
		if edited, ok := rawjson.Annotate(object, digest.Annotation, text); ok {
			return edited
		}
	}
	return object
}

// say returns the progress to tell of a rollout: as long as it goes on and is not due, that of which the
// runtime knows already.
func (w *wakes) say(child workload, is said, isDue bool) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, isKnown := w.said[child]
	if isDue || !isKnown || before.uid != is.uid || before.now != is.now || before.progress == is.progress {
		w.said[child] = is
		delete(w.late, child)
		return is.progress
	}
	if _, isLate := w.late[child]; !isLate {
		w.late[child] = time.Now().Add(w.progressInterval)
		w.nudge()
	}
	return before.progress
}

// forget is told of the end of a child.
func (w *wakes) forget(of request.Collection, namespace, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	child := workload{of.Group, of.Resource, namespace, name}
	delete(w.said, child)
	delete(w.late, child)
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
	w.nudge()
}

// nudge lets run look again at what is due when.
func (w *wakes) nudge() {
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
	for _, times := range []map[workload]time.Time{w.due, w.late} {
		for of, at := range times {
			if remaining := at.Sub(now); remaining < wait {
				first, wait = of, remaining
			}
		}
	}
	if wait <= 0 {
		delete(w.due, first)
		delete(w.late, first)
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
	object = w.annotate(open[0].collection, object, true)
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
