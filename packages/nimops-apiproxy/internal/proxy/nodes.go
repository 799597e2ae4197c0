// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"nimops.nim/apiproxy/internal/nodes"
	"nimops.nim/apiproxy/internal/rawjson"
	"nimops.nim/apiproxy/internal/watches"
)

const (
	// NodesAnnotation tells custom resources of a change of nodes. The runtime looks at a resource whose
	// annotations change, if its watches.yaml says so.
	NodesAnnotation = "nimops.nim/nodes"
	fieldManager    = "nimops-apiproxy"
	nodesPath       = "/api/v1/nodes"
	// Every heartbeat of a kubelet is an event. Read together, they cost a third.
	eventRest = 500 * time.Millisecond
	// Labels of a node often come one after the other, and nodes together.
	settleTime = 300 * time.Millisecond
	// Resources are told no more often.
	newsInterval = time.Second
	// How long to wait after a failure.
	newsRetry = 5 * time.Second
)

// toldOfNodes returns the paths of the resources that depend on nodes. A kind that is not in watches.yaml does not matter.
func toldOfNodes(primaries *watches.Primaries) []string {
	var paths []string
	for _, item := range nodes.Listeners {
		if primaries.Has(item.APIVersion, item.Kind) {
			paths = append(paths, item.Path)
		}
	}
	return paths
}

// nodeNews tells custom resources of nodes: an annotation on each is a digest of all that matters.
//
// Every replica of the operator does so, whether it leads or not. What it writes depends on the nodes
// alone, and it writes only what is not there yet, when its own digest has changed: two that see the
// same write the same, and one that sees a change later writes nothing. What else it depends on is
// which resources there are, with which specs, if several of a kind.
type nodeNews struct {
	upstream *Upstream
	paths    []string
	say      func(string)
	fleet    *nodes.Fleet
	changed  chan struct{}
	rest     time.Duration
	settle   time.Duration
	interval time.Duration
	retry    time.Duration

	mu sync.Mutex
	// Whether all nodes are known: before, the digest is of some.
	isComplete bool

	// Only of tellAll. The digest that was told last.
	told string
	// What was said last, so that a failure that lasts is said once.
	said string
}

// listener is a resource that is told of nodes.
type listener struct {
	path string
	// What tells it from others; empty if it is being deleted.
	rival string
	// The digest that it was told last.
	has string
}

func newNodeNews(upstream *Upstream, paths []string, say func(string)) *nodeNews {
	return &nodeNews{
		upstream: upstream, paths: paths, say: say, fleet: nodes.NewFleet(), changed: make(chan struct{}, 1),
		rest: eventRest, settle: settleTime, interval: newsInterval, retry: newsRetry,
	}
}

func (n *nodeNews) run(ctx context.Context) {
	watch := &follower{
		upstream: n.upstream, path: nodesPath, isOutline: true, rest: n.rest, see: n.see, keep: n.keep,
		deny: func() {
			n.say("nodes may not be watched: resources that depend on them notice a change only at their next reconcile")
		},
	}
	var running sync.WaitGroup
	running.Go(func() { watch.run(ctx) })
	for _, path := range n.paths {
		seen := newRivals(n.notifyIfComplete)
		rivals := &follower{
			upstream: n.upstream, path: path, isOutline: true, see: seen.see, keep: seen.keep,
			deny: func() { n.say(path + " may not be watched: when one changes or is deleted, nothing tells the others") },
		}
		running.Go(func() { rivals.run(ctx) })
	}
	running.Go(func() { n.tellAll(ctx) })
	running.Wait()
}

func (n *nodeNews) see(of meta, _ []byte, isGone bool) {
	var matters bool
	if isGone {
		matters = n.fleet.Forget(of.name)
	} else {
		matters = n.fleet.See(of.name, of.text)
	}
	if matters {
		n.notifyIfComplete()
	}
}

func (n *nodeNews) notifyIfComplete() {
	n.mu.Lock()
	isComplete := n.isComplete
	n.mu.Unlock()
	if isComplete {
		n.notify()
	}
}

func (n *nodeNews) keep(listed map[string]bool) {
	names := make(map[string]bool, len(listed))
	for name := range listed {
		names[name[1:]] = true // They have no namespace before the slash.
	}
	mattered := n.fleet.Keep(names)
	n.mu.Lock()
	wasComplete := n.isComplete
	n.isComplete = true
	n.mu.Unlock()
	if mattered || !wasComplete {
		n.notify()
	}
}

func (n *nodeNews) notify() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// tellAll tells of changes until the context ends.
func (n *nodeNews) tellAll(ctx context.Context) {
	for pause(ctx, n.changed, n.settle) {
		wait := n.interval
		if err := n.tell(ctx); err != nil && ctx.Err() == nil {
			n.complain(err)
			n.notify()
			wait = n.retry
		} else {
			n.complain(nil)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// pause waits for news, and then for those that come with them; false at the end.
func pause(ctx context.Context, news <-chan struct{}, settle time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-news:
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(settle):
		return true
	}
}

// tell writes the digest on all resources that have another, if it is not what was told last.
func (n *nodeNews) tell(ctx context.Context) error {
	var all []listener
	for _, path := range n.paths {
		found, err := n.listeners(ctx, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, found...)
	}
	wanted := digestFor(all, n.fleet.Digest())
	if wanted == n.told {
		return nil
	}
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{NodesAnnotation: wanted},
	}})
	if err != nil {
		return err
	}
	for _, item := range all {
		if item.has == wanted {
			continue
		}
		err := n.upstream.mergePatch(ctx, item.path, fieldManager, change)
		if err != nil && !isGone(err) {
			return fmt.Errorf("%s: %w", item.path, err)
		}
	}
	n.told = wanted
	return nil
}

// listeners returns the resources at a path; none if there is no such kind yet.
func (n *nodeNews) listeners(ctx context.Context, path string) ([]listener, error) {
	body, err := n.upstream.open(ctx, path, "", metadataOfListOnly)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	var found []listener
	_, whole, err := rawjson.EditList(io.Discard, body, rawjson.ListEditor{Item: func(item []byte) []byte {
		if of := readMeta(item); of.name != "" {
			has := rawjson.Text(rawjson.Find(of.text, "annotations", NodesAnnotation))
			found = append(found, listener{path + "/" + of.name, rival(of), has})
		}
		return nil
	}})
	if err == nil && !whole {
		err = fmt.Errorf("no list")
	}
	return found, err
}

func (n *nodeNews) complain(err error) {
	text := ""
	if err != nil {
		text = "cannot tell of a change of nodes: " + err.Error()
	}
	if text != n.said && text != "" {
		n.say(text)
	}
	n.said = text
}
