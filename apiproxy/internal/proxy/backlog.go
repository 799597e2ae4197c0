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
	busyInterval   = 100 * time.Millisecond
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

// allows returns whether one more for a controller would not wait, and make no change wait: that keeps
// to a pace that the machine can go. A runtime that does not tell is taken to be free.
func (b *backlog) allows(ctx context.Context, controller string, sinceLast time.Duration) bool {
	if b.url == "" {
		return true
	}
	depths, err := b.read(ctx)
	if err != nil {
		return true
	}
	all := 0.
	for _, depth := range depths {
		all += depth
	}
	return depths[controller] == 0 && (all == 0 || sinceLast > unevenInterval)
}

// read returns how many wait for each controller.
func (b *backlog) read(ctx context.Context) (map[string]float64, error) {
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
	depths := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		// workqueue_depth{controller="nimservice-v1alpha1-controller",name="…",priority=""} 0
		labels, is := strings.CutPrefix(lines.Text(), `workqueue_depth{controller="`)
		if !is {
			continue
		}
		controller, rest, _ := strings.Cut(labels, `"`)
		depth, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return nil, errors.New("not a metric")
		}
		depths[controller] += depth
	}
	return depths, lines.Err()
}
