// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	metricsTimeout = time.Second
	// When other controllers are behind, and one with nothing to do shall go on.
	unevenInterval = time.Second
	// When the workers are busy for so long that routine shall go on all the same.
	occupiedInterval = 3 * time.Second
	busyInterval     = 50 * time.Millisecond
)

// backlog is what waits in the runtime's queues, as its metrics tell.
type backlog struct {
	// Where the runtime serves them; empty if that is not known.
	url    string
	client http.Client
}

func newBacklog(url string) *backlog {
	return &backlog{url: url, client: http.Client{
		Timeout: metricsTimeout,
		// The default goes by the proxies of the environment.
		Transport: &http.Transport{MaxIdleConns: 1, DisableCompression: true},
	}}
}

// allows returns whether one more for a controller would make no change wait: nothing waits, and half
// of the workers are free. That keeps to a pace that the machine can go, and leaves a worker to a
// change that comes now. What is overdue only waits until nothing else waits for its controller, as it
// would be looked at no earlier. A runtime that does not tell is taken to be free.
func (b *backlog) allows(ctx context.Context, controller string, sinceLast time.Duration, isOverdue bool) bool {
	if b.url == "" {
		return true
	}
	found, err := b.read(ctx)
	if err != nil {
		return true
	}
	own := found[controller]
	if own.waiting > 0 || isOverdue {
		return own.waiting == 0
	}
	all := 0.
	for _, each := range found {
		all += each.waiting
	}
	return (all == 0 || sinceLast > unevenInterval) &&
		(own.running == 0 || 2*own.running < own.workers || sinceLast > occupiedInterval)
}

// load is what waits for a controller, what it does, and how many it can do at the same time.
type load struct{ waiting, running, workers float64 }

// read returns the load of each controller.
func (b *backlog) read(ctx context.Context) (map[string]load, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url, nil)
	if err != nil {
		return nil, err
	}
	response, err := b.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, statusError(response.StatusCode)
	}
	found := map[string]load{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		// workqueue_depth{controller="nimservice-v1alpha1-controller",name="…",priority=""} 0
		name, labels, is := strings.Cut(lines.Text(), `{controller="`)
		if !is {
			continue
		}
		controller, rest, _ := strings.Cut(labels, `"`)
		each := found[controller]
		var number *float64
		switch name {
		case "workqueue_depth":
			number = &each.waiting
		case "controller_runtime_active_workers":
			number = &each.running
		case "controller_runtime_max_concurrent_reconciles":
			number = &each.workers
		default:
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return nil, errors.New("not a metric")
		}
		*number += value
		found[controller] = each
	}
	return found, lines.Err()
}
