// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"nimops.nim/apiproxy/internal/digest"
	"nimops.nim/apiproxy/internal/rawjson"
	"nimops.nim/apiproxy/internal/request"
)

const (
	// triggerInterval is the minimum interval between two events for one workload.
	triggerInterval = 500 * time.Millisecond
	// progressInterval is how long the progress of a rollout is withheld; the rollout is often complete by then.
	progressInterval = 5 * time.Second
	// revision changes with every status write and means nothing to the owner, so it is hidden.
	revision = "deployment.kubernetes.io/revision"
)

// triggers makes the runtime reconcile on changes that it ignores: of a child's status, and of the faults of a
// workload's pods. Both change an annotation of the child, so the runtime reconciles its owner.
type triggers struct {
	fetch    func(ctx context.Context, path string) ([]byte, error)
	streams  *streams
	selector labels.Selector
	faults   *faults
	changed  chan struct{}

	mu               sync.Mutex
	progressInterval time.Duration
	// due is when to send an event for a workload, triggered when the last one was sent.
	due, triggered map[workload]time.Time
	// deferred is when to report the progress of a rollout, reported what the runtime knows of it.
	deferred map[workload]time.Time
	reported map[workload]rolloutStatus
}

// rolloutStatus is the status of a rollout as last reported to the runtime.
type rolloutStatus struct{ uid, now, progress string }

func newTriggers(upstream *Upstream, open *streams, selector labels.Selector) *triggers {
	t := &triggers{
		fetch: upstream.get, streams: open, selector: selector, changed: make(chan struct{}, 1),
		due: map[workload]time.Time{}, triggered: map[workload]time.Time{},
		deferred: map[workload]time.Time{}, reported: map[workload]rolloutStatus{}, progressInterval: progressInterval,
	}
	t.faults = newFaults(t.schedule)
	return t
}

// annotate returns a child as the runtime sees it. Only the digest reflects its status: the entries of
// managedFields for the status are removed, because they change with almost every write. withProgress also
// reports the current progress of a rollout.
func (t *triggers) annotate(of request.Collection, object []byte, withProgress bool) []byte {
	found := readMeta(object)
	child := workload{of.Group, of.Resource, found.namespace, found.name}
	pods := t.faults.summary(child)
	now, progress := digest.Status(object, of.Group, of.Resource)
	if digest.HasProgress(of.Group, of.Resource) {
		progress = t.visibleProgress(child, rolloutStatus{found.uid, now, progress}, withProgress)
	}
	object = rawjson.WithoutStatusFields(object)
	if of.Resource == "deployments" {
		object = rawjson.WithoutAnnotation(object, revision)
	}
	if text := digest.Sum(now, progress, pods); text != "" {
		if edited, ok := rawjson.Annotate(object, digest.Annotation, text); ok {
			return edited
		}
	}
	return object
}

// visibleProgress returns the progress of a rollout to report. While the rollout continues and its progress is not
// due, that is the progress that the runtime knows already.
func (t *triggers) visibleProgress(child workload, is rolloutStatus, withProgress bool) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, isKnown := t.reported[child]
	if withProgress || !isKnown || before.uid != is.uid || before.now != is.now || before.progress == is.progress {
		t.reported[child] = is
		delete(t.deferred, child)
		return is.progress
	}
	if _, isDeferred := t.deferred[child]; !isDeferred {
		t.deferred[child] = time.Now().Add(t.progressInterval)
		t.notify()
	}
	return before.progress
}

// forget drops the state kept for a deleted child.
func (t *triggers) forget(of request.Collection, namespace, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	child := workload{of.Group, of.Resource, namespace, name}
	delete(t.reported, child)
	delete(t.deferred, child)
}

// schedule makes a workload due as soon as triggerInterval allows.
func (t *triggers) schedule(of workload) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, is := t.due[of]; is {
		return
	}
	now := time.Now()
	at := now
	if earliest := t.triggered[of].Add(triggerInterval); earliest.After(now) {
		at = earliest
	}
	t.due[of] = at
	t.notify()
}

// notify makes run check what is due.
func (t *triggers) notify() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// run sends events for workloads that are due, until the context ends.
func (t *triggers) run(ctx context.Context) {
	for ctx.Err() == nil {
		of, wait := t.next(time.Now())
		if wait <= 0 {
			t.trigger(ctx, of)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next returns the workload that is due, or how long to wait.
func (t *triggers) next(now time.Time) (workload, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := time.Hour
	var first workload
	for _, times := range []map[workload]time.Time{t.due, t.deferred} {
		for of, at := range times {
			if remaining := at.Sub(now); remaining < wait {
				first, wait = of, remaining
			}
		}
	}
	if wait <= 0 {
		delete(t.due, first)
		delete(t.deferred, first)
		t.triggered[first] = now
	}
	for of, at := range t.triggered {
		if now.Sub(at) > triggerInterval {
			delete(t.triggered, of)
		}
	}
	return first, wait
}

// trigger sends an event with the current version of a workload to each open watch of it. If the workload cannot
// be read, or an event of the API server overtakes, the progress of a rollout is reported later, because no
// event may follow.
func (t *triggers) trigger(ctx context.Context, of workload) {
	open := t.streams.covering(of.group, of.resource, of.namespace)
	if len(open) == 0 {
		return
	}
	for _, stream := range open {
		stream.begin()
		defer stream.end()
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	before := t.lastReported(of)
	object, err := t.fetch(ctx, open[0].collection.ObjectPath(of.namespace, of.name))
	if err == nil && !t.selects(object) {
		return
	}
	if err == nil {
		object = t.annotate(open[0].collection, object, true)
		for _, stream := range open {
			err = errors.Join(err, stream.add("MODIFIED", object))
		}
	}
	if err != nil {
		t.retry(of, before)
	}
}

func (t *triggers) lastReported(of workload) rolloutStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reported[of]
}

// retry defers the progress of a rollout again. before is what the runtime knows of it; it knows nothing of a
// workload that was deleted meanwhile.
func (t *triggers) retry(of workload, before rolloutStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, isKnown := t.reported[of]; !isKnown {
		return
	}
	t.reported[of] = before
	t.deferred[of] = time.Now().Add(t.progressInterval)
	t.notify()
}

// selects reports whether the runtime's watches include an object. The runtime must not receive any other,
// because it would never learn of its deletion.
func (t *triggers) selects(object []byte) bool {
	var found labels.Set
	_ = json.Unmarshal(rawjson.Find(object, "metadata", "labels"), &found)
	return t.selector.Matches(found)
}
