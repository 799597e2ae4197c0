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
	// NodesAnnotation holds the digest of the nodes on custom resources. A change triggers a reconcile if
	// watches.yaml has watchAnnotationsChanges for the kind.
	NodesAnnotation = "nimops.nim/nodes"
	fieldManager    = "nimops-apiproxy"
	nodesPath       = "/api/v1/nodes"
	// eventRest lets heartbeats of kubelets accumulate: reading them together costs a third.
	eventRest = 500 * time.Millisecond
	// settleTime is the delay before a write, because labels of a node often change one after the other, and
	// nodes change together.
	settleTime = 300 * time.Millisecond
	// writeInterval is the minimum interval between two writes of the digest.
	writeInterval = time.Second
	// writeRetry is the interval after a failed write.
	writeRetry = 5 * time.Second
)

// nodeListenerPaths returns the collection paths of the kinds of watches.yaml that depend on nodes.
func nodeListenerPaths(primaries *watches.Primaries) []string {
	var paths []string
	for _, item := range nodes.Listeners {
		if primaries.Has(item.APIVersion, item.Kind) {
			paths = append(paths, item.Path)
		}
	}
	return paths
}

// nodeNotifier triggers the reconcile of custom resources when nodes change: it writes a digest of all relevant
// facts into an annotation of each.
//
// Every replica of the operator does so, whether it is the leader or not. The digest depends on the nodes and,
// if there are several resources, on their names, UIDs and generations. A replica writes only when its own
// digest changed, and only where the annotation differs. So two replicas that observe the same change write the
// same value, and the later one writes nothing.
type nodeNotifier struct {
	upstream *Upstream
	paths    []string
	log      func(string)
	fleet    *nodes.Fleet
	changed  chan struct{}
	rest     time.Duration
	settle   time.Duration
	interval time.Duration
	retry    time.Duration

	mu sync.Mutex
	// isComplete is set after the first list; until then, the digest covers only some nodes.
	isComplete bool

	// written is the digest that was written last. Only writeChanges uses it and logged.
	written string
	// logged is the last message, so that a persistent failure is logged once.
	logged string
}

// listener is a resource that depends on nodes.
type listener struct {
	path string
	// identity is what identity returned for the resource.
	identity string
	// annotation is the current value of NodesAnnotation.
	annotation string
}

func newNodeNotifier(upstream *Upstream, paths []string, log func(string)) *nodeNotifier {
	return &nodeNotifier{
		upstream: upstream, paths: paths, log: log, fleet: nodes.NewFleet(), changed: make(chan struct{}, 1),
		rest: eventRest, settle: settleTime, interval: writeInterval, retry: writeRetry,
	}
}

func (n *nodeNotifier) run(ctx context.Context) {
	watch := &follower{
		upstream: n.upstream, path: nodesPath, isMetadataOnly: true, rest: n.rest, onObject: n.observe, onList: n.retain,
		onDenied: func() {
			n.log("nodes may not be watched: a change of nodes takes effect only at the next reconcile of a resource")
		},
	}
	var running sync.WaitGroup
	running.Go(func() { watch.run(ctx) })
	for _, path := range n.paths {
		seen := newPeers(n.signalIfComplete)
		peers := &follower{
			upstream: n.upstream, path: path, isMetadataOnly: true, onObject: seen.observe, onList: seen.retain,
			onDenied: func() { n.log(path + " may not be watched: a change or deletion of one does not trigger the others") },
		}
		running.Go(func() { peers.run(ctx) })
	}
	running.Go(func() { n.writeChanges(ctx) })
	running.Wait()
}

func (n *nodeNotifier) observe(of meta, _ []byte, isGone bool) {
	var isRelevant bool
	if isGone {
		isRelevant = n.fleet.Forget(of.name)
	} else {
		isRelevant = n.fleet.Observe(of.name, of.text)
	}
	if isRelevant {
		n.signalIfComplete()
	}
}

func (n *nodeNotifier) signalIfComplete() {
	n.mu.Lock()
	isComplete := n.isComplete
	n.mu.Unlock()
	if isComplete {
		n.signal()
	}
}

func (n *nodeNotifier) retain(listed map[string]bool) {
	names := make(map[string]bool, len(listed))
	for name := range listed {
		names[name[1:]] = true // Nodes have no namespace before the slash.
	}
	wasRelevant := n.fleet.Retain(names)
	n.mu.Lock()
	wasComplete := n.isComplete
	n.isComplete = true
	n.mu.Unlock()
	if wasRelevant || !wasComplete {
		n.signal()
	}
}

func (n *nodeNotifier) signal() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// writeChanges writes the digest after changes until the context ends.
func (n *nodeNotifier) writeChanges(ctx context.Context) {
	for pause(ctx, n.changed, n.settle) {
		wait := n.interval
		if err := n.writeDigest(ctx); err != nil && ctx.Err() == nil {
			n.logError(err)
			n.signal()
			wait = n.retry
		} else {
			n.logError(nil)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// pause waits for a change and then for the settle time; it returns false when the context ends.
func pause(ctx context.Context, changed <-chan struct{}, settle time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(settle):
		return true
	}
}

// writeDigest writes the digest to all resources with another value, unless it is the one written last.
func (n *nodeNotifier) writeDigest(ctx context.Context) error {
	var all []listener
	for _, path := range n.paths {
		found, err := n.listeners(ctx, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, found...)
	}
	wanted := digestFor(all, n.fleet.Digest())
	if wanted == n.written {
		return nil
	}
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{NodesAnnotation: wanted},
	}})
	if err != nil {
		return err
	}
	for _, item := range all {
		if item.annotation == wanted {
			continue
		}
		err := n.upstream.mergePatch(ctx, item.path, fieldManager, change)
		if err != nil && !isGone(err) {
			return fmt.Errorf("%s: %w", item.path, err)
		}
	}
	n.written = wanted
	return nil
}

// listeners returns the resources at a path; none if the kind does not exist yet.
func (n *nodeNotifier) listeners(ctx context.Context, path string) ([]listener, error) {
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
			annotation := rawjson.Text(rawjson.Find(of.text, "annotations", NodesAnnotation))
			found = append(found, listener{path + "/" + of.name, identity(of), annotation})
		}
		return nil
	}})
	if err == nil && !whole {
		err = fmt.Errorf("no list")
	}
	return found, err
}

// logError logs an error unless it is the same as before; nil resets this.
func (n *nodeNotifier) logError(err error) {
	text := ""
	if err != nil {
		text = "cannot update the annotation " + NodesAnnotation + ": " + err.Error()
	}
	if text != n.logged && text != "" {
		n.log(text)
	}
	n.logged = text
}
