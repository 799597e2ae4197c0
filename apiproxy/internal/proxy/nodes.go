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

// Cluster-scoped kinds that are told of nodes, and where they are. This is all that the proxy knows of
// kinds; one that is not in watches.yaml does not matter.
var listeners = []struct{ apiVersion, kind, path string }{
	{"nvidia.com/v1", "ClusterPolicy", "/apis/nvidia.com/v1/clusterpolicies"},
	{"nvidia.com/v1alpha1", "NVIDIADriver", "/apis/nvidia.com/v1alpha1/nvidiadrivers"},
}

// toldOfNodes returns the paths of the resources to tell of nodes.
func toldOfNodes(primaries *watches.Primaries) []string {
	var paths []string
	for _, item := range listeners {
		if primaries.Has(item.apiVersion, item.kind) {
			paths = append(paths, item.path)
		}
	}
	return paths
}

// nodeNews tells custom resources of nodes: an annotation on each is a digest of all that matters.
//
// Every replica of the operator does so, whether it leads or not. What it writes depends on the nodes
// alone, and it writes only what is not there yet, when its own digest has changed: two that see the
// same write the same, and one that sees a change later writes nothing.
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
	// What was said last, so that a failure that lasts is said once.
	said string
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
			n.say("nodes may not be watched: a change of them is only seen by the next look at a ClusterPolicy")
		},
	}
	var running sync.WaitGroup
	running.Go(func() { watch.run(ctx) })
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
	n.mu.Lock()
	isComplete := n.isComplete
	n.mu.Unlock()
	if matters && isComplete {
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
	told := ""
	for pause(ctx, n.changed, n.settle) {
		wanted := n.fleet.Digest()
		if wanted == told {
			continue
		}
		wait := n.interval
		if err := n.tell(ctx, wanted); err != nil && ctx.Err() == nil {
			n.complain(err)
			n.notify()
			wait = n.retry
		} else {
			told = wanted
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

// tell writes the digest on all resources that have another.
func (n *nodeNews) tell(ctx context.Context, wanted string) error {
	for _, path := range n.paths {
		names, err := n.others(ctx, path, wanted)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range names {
			change, err := json.Marshal(map[string]any{"metadata": map[string]any{
				"annotations": map[string]string{NodesAnnotation: wanted},
			}})
			if err != nil {
				return err
			}
			err = n.upstream.mergePatch(ctx, path+"/"+name, fieldManager, change)
			if err != nil && !isGone(err) {
				return fmt.Errorf("%s/%s: %w", path, name, err)
			}
		}
	}
	return nil
}

// others returns the names of resources that have another digest; none if there is no such kind yet.
func (n *nodeNews) others(ctx context.Context, path, wanted string) ([]string, error) {
	body, err := n.upstream.open(ctx, path, "", metadataOfListOnly)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	var names []string
	_, whole, err := rawjson.EditList(io.Discard, body, rawjson.ListEditor{Item: func(item []byte) []byte {
		has := rawjson.Text(rawjson.Find(item, "metadata", "annotations", NodesAnnotation))
		if name := readMeta(item).name; name != "" && has != wanted {
			names = append(names, name)
		}
		return nil
	}})
	if err == nil && !whole {
		err = fmt.Errorf("no list")
	}
	return names, err
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
