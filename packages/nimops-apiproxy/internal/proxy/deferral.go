// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"nimops.nim/apiproxy/internal/digest"
	"nimops.nim/apiproxy/internal/rawjson"
	"nimops.nim/apiproxy/internal/request"
	"nimops.nim/apiproxy/internal/watches"
)

const (
	// fewAtRest is the number of objects at rest that are not worth deferring.
	fewAtRest = 4
	// retryDelay is the time until an object that could not be fetched is due again.
	retryDelay   = time.Second
	fetchTimeout = 10 * time.Second
)

// deferral lets changes overtake routine reconciles. Without it, the runtime's queue starts with a pass for
// every existing object, and a change waits behind all of them.
//
// The runtime's first list of a primary collection lacks the objects at rest. They follow as watch events,
// evenly over time and in an order derived from their names. If an object changes before its turn, the API
// server's own event delivers it. Only names are kept in memory.
type deferral struct {
	spread time.Duration
	// interval is the time between two deliveries, if that is fast enough for all.
	interval time.Duration
	now      func() time.Time
	backlog  *backlog
	fetch    func(ctx context.Context, path string) ([]byte, error)
	// reduce returns the visible form of an object.
	reduce  func([]byte) []byte
	streams *streams
	// changed wakes the goroutine that delivers objects.
	changed chan struct{}

	mu     sync.Mutex
	listed map[request.Collection]bool
	// pages has the objects that pages lacked, by the token of the next page.
	pages map[string][]*withheld
	// withheld is keyed by uid.
	withheld map[string]*withheld
	// order has all withheld objects by rank.
	order []*withheld
	// deadlines are the times by which the objects of a collection must be delivered.
	deadlines map[request.Collection]time.Time
	// gap is the minimum time between two deliveries, even of late objects.
	gap time.Duration
}

// withheld is an object that the runtime has not received yet.
type withheld struct {
	collection           request.Collection
	namespace, name, uid string
	// rank is a digest of the name, so that the order differs from the order in which users chose names.
	rank    string
	routine watches.Routine
	due     time.Time
	urgent  bool
}

func newDeferral(spread, interval time.Duration, metrics string, upstream *Upstream, open *streams) *deferral {
	return &deferral{
		spread:    spread,
		interval:  interval,
		backlog:   newBacklog(metrics),
		now:       time.Now,
		fetch:     upstream.get,
		streams:   open,
		changed:   make(chan struct{}, 1),
		listed:    map[request.Collection]bool{},
		pages:     map[string][]*withheld{},
		withheld:  map[string]*withheld{},
		deadlines: map[request.Collection]time.Time{},
	}
}

// begin reports whether a list, or this page of it, may lack objects, and returns those that earlier pages
// lacked. Only the initial list of an informer asks for version 0, so no other client gets an incomplete list.
func (d *deferral) begin(collection request.Collection, query request.Query) ([]*withheld, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spread <= 0 || d.listed[collection] {
		return nil, false
	}
	if query.Continue == "" {
		return nil, query.ResourceVersion == "0"
	}
	before, is := d.pages[query.Continue]
	delete(d.pages, query.Continue)
	return before, is
}

// isActive reports whether a list affects the deferral: until the first list has passed, and while any object is
// withheld.
func (d *deferral) isActive(collection request.Collection) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.spread > 0 && (!d.listed[collection] || len(d.withheld) > 0)
}

// finish records a list, or a page of it, that was forwarded completely.
func (d *deferral) finish(collection request.Collection, metadata []byte, deferring bool, left []*withheld) {
	if hasMore(metadata) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if deferring {
			d.pages[rawjson.Text(rawjson.Find(metadata, "continue"))] = left
		}
		return
	}
	d.replace(collection, left)
}

// replace sets the withheld objects of a collection: none after a complete list.
func (d *deferral) replace(collection request.Collection, items []*withheld) {
	d.mu.Lock()
	d.listed[collection] = true
	for uid, item := range d.withheld {
		if item.collection == collection {
			delete(d.withheld, uid)
		}
	}
	for _, item := range items {
		sum := sha256.Sum256([]byte(item.namespace + "/" + item.name))
		item.rank = string(sum[:])
		d.withheld[item.uid] = item
	}
	d.order = d.order[:0]
	for _, item := range d.withheld {
		d.order = append(d.order, item)
	}
	slices.SortFunc(d.order, func(a, b *withheld) int { return strings.Compare(a.rank, b.rank) })
	now := d.now()
	for _, item := range items {
		end := now.Add(min(d.spread, item.routine.Period))
		if set, is := d.deadlines[collection]; !is || end.Before(set) {
			d.deadlines[collection] = end
		}
	}
	d.plan(now)
	d.mu.Unlock()
	d.notify()
}

// plan sets when each object is due: no faster than the deadlines require, and evenly per collection.
func (d *deferral) plan(now time.Time) {
	if len(d.order) == 0 {
		return
	}
	whole := min(d.spread, d.interval*time.Duration(len(d.order)))
	d.gap = whole / time.Duration(2*len(d.order))
	counts, placed := map[request.Collection]int{}, map[request.Collection]int{}
	for _, item := range d.order {
		counts[item.collection]++
	}
	for _, item := range d.order {
		of := item.collection
		period := max(0, min(whole, d.deadlines[of].Sub(now)))
		item.due = now.Add(period * time.Duration(placed[of]) / time.Duration(counts[of]))
		placed[of]++
	}
}

// observe processes a forwarded event. Its object need not be delivered any more. A change of a child makes
// its withheld owner urgent, because the runtime could not find the owner.
func (d *deferral) observe(found event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.withheld) == 0 {
		return
	}
	delete(d.withheld, found.meta.uid)
	if found.meta.owners == nil || found.kind == "ADDED" {
		return
	}
	var owners []digest.Owner
	if json.Unmarshal(found.meta.owners, &owners) != nil {
		return
	}
	for _, owner := range owners {
		if item := d.withheld[owner.UID]; item != nil {
			item.urgent = true
			d.notify()
		}
	}
}

// count returns the number of withheld objects.
func (d *deferral) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.withheld)
}

func (d *deferral) notify() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// run delivers withheld objects until the context ends.
func (d *deferral) run(ctx context.Context) {
	var last time.Time
	for ctx.Err() == nil {
		item, to, wait := d.next(time.Now(), last)
		if item != nil {
			urgent, overdue := d.urgency(item, time.Now())
			if urgent || d.backlog.allows(ctx, item.routine.Controller, time.Since(last), overdue) {
				d.deliver(ctx, item, to)
				last = time.Now()
				continue
			}
			wait = busyInterval
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-d.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next returns the object to deliver now and the stream for it, or else how long to wait. Urgent objects do
// not wait for their turn.
func (d *deferral) next(now, last time.Time) (*withheld, *stream, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.order = slices.DeleteFunc(d.order, func(item *withheld) bool { return d.withheld[item.uid] != item })
	var first *withheld
	var to *stream
	wait := time.Hour
	for _, item := range d.order {
		due := item.due
		if item.urgent {
			due = time.Time{}
		} else if earliest := last.Add(d.gap); due.Before(earliest) {
			due = earliest
		}
		if remaining := due.Sub(now); remaining < wait {
			if open := d.streams.of(item.collection); len(open) > 0 {
				first, to, wait = item, open[len(open)-1], remaining
			}
		}
	}
	if wait > 0 {
		return nil, nil, wait
	}
	return first, to, 0
}

// urgency reports whether an object must be delivered at once, and whether the deadline of its collection has passed.
func (d *deferral) urgency(item *withheld, now time.Time) (urgent, overdue bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return item.urgent, now.After(d.deadlines[item.collection])
}

// deliver sends the current version of an object to the runtime.
func (d *deferral) deliver(ctx context.Context, item *withheld, to *stream) {
	to.begin()
	defer to.end()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	object, err := d.fetch(ctx, item.collection.ObjectPath(item.namespace, item.name))
	// An object with another uid is new: the API server's own event delivers it.
	if uid := readMeta(object).uid; err == nil && (uid == item.uid || uid == "") {
		err = to.add("ADDED", d.reduce(object))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil || isGone(err) || errors.Is(err, errOvertaken) {
		if d.withheld[item.uid] == item {
			delete(d.withheld, item.uid)
		}
		return
	}
	item.due, item.urgent = time.Now().Add(retryDelay), false
}

// AtRest reports whether an object is at rest, and returns how the runtime reconciles it then.
type AtRest func(object []byte) (watches.Routine, bool)

// editor removes the objects at rest from a list. The returned function returns them after the list has passed.
func (d *deferral) editor(collection request.Collection, isAtRest AtRest, before []*withheld) (rawjson.ListEditor, func() []*withheld) {
	left := before
	var few [][]byte
	edit := rawjson.ListEditor{
		Item: func(item []byte) []byte {
			item = d.reduce(item)
			routine, rests := isAtRest(item)
			if !rests {
				return item
			}
			found := readMeta(item)
			if found.uid == "" || found.name == "" {
				return item
			}
			left = append(left, &withheld{
				collection: collection, namespace: found.namespace, name: found.name, uid: found.uid, routine: routine,
			})
			if len(left) <= fewAtRest {
				few = append(few, append([]byte(nil), item...))
			} else {
				few = nil
			}
			return nil
		},
		More: func() [][]byte {
			if len(left) <= fewAtRest {
				left = nil
			}
			return few
		},
	}
	return edit, func() []*withheld { return left }
}
