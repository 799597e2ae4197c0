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
	// So few cost less than it costs to put them off.
	fewAtRest    = 4
	retryDelay   = time.Second
	fetchTimeout = 10 * time.Second
)

// deferral makes changes go before routine. Without it, the runtime's queue begins with a pass for
// each object there is, and a change waits behind all of them.
//
// The runtime's first list of a primary collection lacks the objects at rest. They follow as events
// of its watch, evenly over time and in an order that their names decide, unless something happens to
// one before: then the API server's own event brings it. Only names are kept.
type deferral struct {
	spread time.Duration
	// Between two that are brought, if that suffices for all to come in time.
	interval time.Duration
	now      func() time.Time
	backlog  *backlog
	fetch    func(ctx context.Context, path string) ([]byte, error)
	// reduce returns what is to be seen of an object.
	reduce  func([]byte) []byte
	streams *streams
	// changed wakes the goroutine that brings them.
	changed chan struct{}

	mu     sync.Mutex
	listed map[request.Collection]bool
	// What pages lacked, by the token that continues after them.
	pages    map[string][]*withheld
	withheld map[string]*withheld
	// All of them, in the order of their ranks.
	order []*withheld
	// Until when those of a collection must come.
	deadlines map[request.Collection]time.Time
	// Those that are late come no faster than this.
	gap time.Duration
}

// withheld is an object that the runtime does not know of yet.
type withheld struct {
	collection           request.Collection
	namespace, name, uid string
	// A digest of the name, which is another order than any in which names were given.
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

// begin returns whether a list, or this page of one, may lack objects, and those that earlier pages
// lacked. It is the list that an informer begins with, which alone asks for version 0: nobody else
// gets an incomplete answer.
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

// concerns returns whether a list matters here: until the first one has passed, and as long as
// anything is withheld.
func (d *deferral) concerns(collection request.Collection) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.spread > 0 && (!d.listed[collection] || len(d.withheld) > 0)
}

// finish is told of a list, or a page of one, that passed as a whole.
func (d *deferral) finish(collection request.Collection, metadata []byte, deferring bool, left []*withheld) {
	if next := rawjson.Find(metadata, "continue"); next != nil && string(next) != `""` {
		d.mu.Lock()
		defer d.mu.Unlock()
		if deferring {
			d.pages[rawjson.Text(next)] = left
		}
		return
	}
	d.put(collection, left)
}

// put replaces what of a collection is withheld: nothing after a list that lacked nothing.
func (d *deferral) put(collection request.Collection, items []*withheld) {
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

// plan says when each object is due: all in one row, as fast as they must come and no faster, and
// those of each collection evenly.
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
		row := max(0, min(whole, d.deadlines[of].Sub(now)))
		item.due = now.Add(row * time.Duration(placed[of]) / time.Duration(counts[of]))
		placed[of]++
	}
}

// observe takes notice of the events that pass: nothing is owed of an object that the runtime is told
// of, and what depends on a withheld object brings that at once, as the runtime could not find it.
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

// left returns how many objects are withheld.
func (d *deferral) left() int {
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

// run brings what is withheld.
func (d *deferral) run(ctx context.Context) {
	var last time.Time
	for ctx.Err() == nil {
		item, to, wait := d.next(time.Now(), last)
		if item != nil {
			urgent, overdue := d.standing(item, time.Now())
			if urgent || d.backlog.allows(ctx, item.routine.Controller, time.Since(last), overdue) {
				d.bring(ctx, item, to)
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

// next returns what is to be brought now, and where; else how long to wait. Urgent ones do not wait
// for their turn.
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

// standing returns whether an object must be brought at once, and whether all of its collection should
// have been by now.
func (d *deferral) standing(item *withheld, now time.Time) (urgent, overdue bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return item.urgent, now.After(d.deadlines[item.collection])
}

// bring tells the runtime of an object, as it is now.
func (d *deferral) bring(ctx context.Context, item *withheld, to *stream) {
	to.begin()
	defer to.end()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	object, err := d.fetch(ctx, item.collection.ObjectPath(item.namespace, item.name))
	// One of another uid is new: the API server's own event tells of it.
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

// AtRest says whether an object is at rest, and how the runtime looks after it then.
type AtRest func(object []byte) (watches.Routine, bool)

// editor leaves the objects at rest out of a list. The function returns them when it has passed.
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
