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
	// unevenInterval is the maximum time that routine reconciles are held back while only other controllers are behind.
	unevenInterval = time.Second
	// occupiedInterval is the maximum time that routine reconciles are held back while workers are busy.
	occupiedInterval = 3 * time.Second
	// busyInterval is the time between two checks of a busy runtime.
	busyInterval = 50 * time.Millisecond
)

// backlog reads the length of the runtime's queues from its metrics.
type backlog struct {
	// url is where the runtime serves its metrics; empty if unknown.
	url    string
	client http.Client
}

func newBacklog(url string) *backlog {
	return &backlog{url: url, client: http.Client{
		Timeout: metricsTimeout,
		// The default transport would use the proxies of the environment.
		Transport: &http.Transport{MaxIdleConns: 1, DisableCompression: true},
	}}
}

// allows reports whether one more object for a controller delays no change: the queue is empty and half of
// the workers are free. This limits the pace to what the machine can handle and keeps a worker free for the
// next change. An overdue object only waits until the queue of its controller is empty, because it would not
// be reconciled earlier. A runtime without metrics counts as free.
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
	total := 0.
	for _, each := range found {
		total += each.waiting
	}
	return (total == 0 || sinceLast > unevenInterval) &&
		(own.running == 0 || 2*own.running < own.workers || sinceLast > occupiedInterval)
}

// load has the queue length of a controller, its active workers and all of its workers.
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
