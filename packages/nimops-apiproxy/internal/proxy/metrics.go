// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"nimops.nim/apiproxy/internal/fleet"
	"nimops.nim/apiproxy/internal/nodes"
)

// MetricsPath is the only path that Metrics serves.
const MetricsPath = "/metrics"

const (
	textFormat = "text/plain; version=0.0.4; charset=utf-8"
	// longestMetric is the length of the longest line of the runtime's metrics.
	longestMetric = 64 << 10
	// runTime is the runtime's histogram of whole reconciles, which Metrics also serves by kind.
	runTime  = "controller_runtime_reconcile_time_seconds"
	duration = "nimops_reconcile_duration_seconds"
	// Access to metrics is remembered for so long, for at most so many tokens.
	accessTime  = time.Minute
	manyTokens  = 100
	reviewLimit = 1 << 20
)

// metricsHandler serves the runtime's metrics together with those of the resources.
type metricsHandler struct {
	proxy *Proxy
	// runtime is the URL of the runtime's metrics.
	runtime string
	// counters is the file with the counters of the passes.
	counters string
	// isRestricted admits only clients that may get MetricsPath, as the API server decides.
	isRestricted bool
	client       http.Client
	access       access
}

// Metrics returns a handler that serves the runtime's metrics, which it reads from Options.Metrics, together with those of
// the resources, and the counters in a file. If it is restricted, it admits only clients that may get MetricsPath.
func (p *Proxy) Metrics(counters string, isRestricted bool) http.Handler {
	return &metricsHandler{
		proxy: p, runtime: p.options.Metrics, counters: counters, isRestricted: isRestricted,
		// The default transport would use the proxies of the environment.
		client: http.Client{Timeout: fetchTimeout, Transport: &http.Transport{MaxIdleConns: 1, DisableCompression: true}},
		access: access{known: map[[sha256.Size]byte]verdict{}},
	}
}

// ServeHTTP answers a scrape.
func (m *metricsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != MetricsPath {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if m.isRestricted {
		if status := m.access.check(r, m.proxy.options.Upstream); status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
	}
	w.Header().Set("Content-Type", textFormat)
	// Errors mean that the client disconnected.
	out := bufio.NewWriterSize(w, 64<<10)
	defer func() { _ = out.Flush() }()
	m.copyRuntime(r.Context(), out)
	m.writePasses(out)
	if m.proxy.fleet.Write(out) == nil && m.proxy.nodes != nil && m.proxy.fleet.Has("ClusterPolicy") {
		writeNodes(out, m.proxy.nodes.fleet.Count())
	}
}

// copyRuntime writes the runtime's metrics, and its histogram of reconciles by kind. Without them, the scrape has the
// other metrics.
func (m *metricsHandler) copyRuntime(ctx context.Context, out *bufio.Writer) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.runtime, nil)
	if err != nil {
		return
	}
	response, err := m.client.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return
	}
	kinds := m.proxy.options.Primaries.Controllers()
	var byKind bytes.Buffer
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, longestMetric)
	for lines.Scan() {
		_, _ = out.Write(lines.Bytes())
		_ = out.WriteByte('\n')
		part, rest, is := bytes.Cut(lines.Bytes(), []byte(`{controller="`))
		if !is || !bytes.HasPrefix(part, []byte(runTime)) {
			continue
		}
		controller, rest, _ := bytes.Cut(rest, []byte(`"`))
		if kind := kinds[string(controller)]; kind != "" {
			fmt.Fprintf(&byKind, "%s%s{kind=%q%s\n", duration, part[len(runTime):], kind, rest)
		}
	}
	head(out, duration, "histogram", "Time of a whole reconcile, from the queue to the end of the playbook.")
	_, _ = out.Write(byKind.Bytes())
}

// passes are the counters of the passes over the resources of a kind.
type passes struct {
	Passes      int64   `json:"passes"`
	Unready     int64   `json:"unready"`
	Writes      int64   `json:"writes"`
	Drift       int64   `json:"drift"`
	Forked      int64   `json:"forked"`
	LastSuccess float64 `json:"last_success"`
	// Available is the number of nodes that could start the upgrade of their driver; only of ClusterPolicies.
	Available *int64 `json:"upgrades_available"`
}

func (m *metricsHandler) writePasses(out *bufio.Writer) {
	found := readPasses(m.counters)
	kinds := slices.Sorted(maps.Keys(found))
	for _, of := range []struct {
		name, help string
		value      func(passes) int64
	}{
		{"nimops_passes_total", "Passes over the custom resources of a kind.", func(of passes) int64 { return of.Passes }},
		{"nimops_forked_passes_total", "Passes that a prefork parent ran.", func(of passes) int64 { return of.Forked }},
		{"nimops_writes_total", "Objects that passes wrote or deleted.", func(of passes) int64 { return of.Writes }},
		{"nimops_drift_corrected_total", "Objects of Ready resources that passes changed back.", func(of passes) int64 { return of.Drift }},
	} {
		head(out, of.name, "counter", of.help)
		for _, kind := range kinds {
			fmt.Fprintf(out, "%s{kind=%q} %d\n", of.name, kind, of.value(found[kind]))
		}
	}
	policy, is := found["ClusterPolicy"]
	if !is {
		return
	}
	head(out, "gpu_operator_reconciliation_total", "counter", "Passes over ClusterPolicies.")
	fmt.Fprintf(out, "gpu_operator_reconciliation_total %d\n", policy.Passes)
	head(out, "gpu_operator_reconciliation_failed_total", "counter", "Passes over ClusterPolicies that ended not ready.")
	fmt.Fprintf(out, "gpu_operator_reconciliation_failed_total %d\n", policy.Unready)
	if policy.LastSuccess > 0 {
		head(out, "gpu_operator_reconciliation_last_success_ts_seconds", "gauge", "Unix time of the last pass that ended ready.")
		fmt.Fprintf(out, "gpu_operator_reconciliation_last_success_ts_seconds %.0f\n", policy.LastSuccess)
	}
	if policy.Available != nil {
		head(out, "gpu_operator_nodes_upgrades_available", "gauge", "Nodes that can start the upgrade of their driver now.")
		fmt.Fprintf(out, "gpu_operator_nodes_upgrades_available %d\n", *policy.Available)
	}
}

func writeNodes(out *bufio.Writer, of nodes.Counts) {
	total := 0
	for _, count := range of.Upgrades {
		total += count
	}
	done, pending := of.Upgrades["upgrade-done"], of.Upgrades["upgrade-required"]
	labelled := 0
	if of.IsLabelled {
		labelled = 1
	}
	for _, item := range []struct {
		name, help string
		value      int
	}{
		{"gpu_nodes_total", "Nodes with GPUs.", of.GPUs},
		{"reconciliation_has_nfd_labels", "1 if Node Feature Discovery labelled a node.", labelled},
		{"nodes_upgrades_done", "Nodes whose driver is up to date.", done},
		{"nodes_upgrades_failed", "Nodes whose driver upgrade failed.", of.Upgrades["upgrade-failed"]},
		{"nodes_upgrades_in_progress", "Nodes whose driver is being upgraded.", total - done - pending},
		{"nodes_upgrades_pending", "Nodes that wait for a driver upgrade.", pending},
	} {
		kind := "gauge"
		if strings.HasSuffix(item.name, "_total") {
			kind = "untyped" // The name of a gauge should not end like that.
		}
		head(out, "gpu_operator_"+item.name, kind, item.help)
		fmt.Fprintf(out, "gpu_operator_%s %d\n", item.name, item.value)
	}
}

func head(out io.Writer, name, kind, help string) {
	_, _ = io.WriteString(out, fleet.Head(name, kind, help))
}

// access remembers which clients may read metrics.
type access struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]verdict
}

type verdict struct {
	status int
	until  time.Time
}

// check asks the API server who sent a request and whether the client may get MetricsPath.
func (a *access) check(r *http.Request, upstream *Upstream) int {
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !is || token == "" {
		return http.StatusUnauthorized
	}
	key := sha256.Sum256([]byte(token))
	a.mu.Lock()
	held, is := a.known[key]
	a.mu.Unlock()
	if is && time.Now().Before(held.until) {
		return held.status
	}
	ctx, cancel := context.WithTimeout(r.Context(), fetchTimeout)
	defer cancel()
	status, err := review(ctx, upstream, token)
	if err != nil {
		return http.StatusInternalServerError
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= manyTokens {
		clear(a.known)
	}
	a.known[key] = verdict{status, time.Now().Add(accessTime)}
	return status
}

type tokenReview struct {
	Status struct {
		Authenticated bool `json:"authenticated"`
		User          struct {
			Username string              `json:"username"`
			UID      string              `json:"uid"`
			Groups   []string            `json:"groups"`
			Extra    map[string][]string `json:"extra"`
		} `json:"user"`
	} `json:"status"`
}

type accessReview struct {
	Status struct {
		Allowed bool `json:"allowed"`
	} `json:"status"`
}

func review(ctx context.Context, upstream *Upstream, token string) (int, error) {
	var who tokenReview
	err := upstream.create(ctx, "/apis/authentication.k8s.io/v1/tokenreviews", map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": map[string]any{"token": token},
	}, &who)
	if err != nil {
		return 0, err
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	var may accessReview
	err = upstream.create(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": map[string]any{
			"user": user.Username, "uid": user.UID, "groups": user.Groups, "extra": user.Extra,
			"nonResourceAttributes": map[string]any{"path": MetricsPath, "verb": "get"},
		},
	}, &may)
	if err != nil {
		return 0, err
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// create posts an object that the API server completes.
func (u *Upstream) create(ctx context.Context, path string, object, into any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	body, err := u.ask(ctx, u.transport, http.MethodPost, path, "", bytes.NewReader(text),
		"Accept", wholeObjects, "Content-Type", wholeObjects)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return json.NewDecoder(io.LimitReader(body, reviewLimit)).Decode(into)
}
