// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const runtimeMetrics = `# HELP controller_runtime_reconcile_time_seconds Length of time
# TYPE controller_runtime_reconcile_time_seconds histogram
controller_runtime_reconcile_time_seconds_bucket{controller="nimservice-v1alpha1-controller",le="0.5"} 3
controller_runtime_reconcile_time_seconds_count{controller="nimservice-v1alpha1-controller"} 4
controller_runtime_reconcile_time_seconds_count{controller="other"} 4
workqueue_depth{controller="nimservice-v1alpha1-controller",name="n",priority=""} 0
`

// scrape starts to serve the metrics of a proxy, and returns how to read them with a token.
func scrape(s *setup, counters string, isRestricted bool) func(token string) (int, string) {
	s.Helper()
	runtime := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, runtimeMetrics) }))
	s.Cleanup(runtime.Close)
	s.proxy.options.Metrics = runtime.URL
	server := httptest.NewServer(s.proxy.Metrics(counters, isRestricted))
	s.Cleanup(server.Close)
	return func(token string) (int, string) {
		s.Helper()
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+MetricsPath, nil)
		if err != nil {
			s.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			s.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			s.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
}

func TestMetrics(t *testing.T) {
	events := newStreamer()
	s := start(t, 0, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("watch") != "":
			events.serve(w, r)
		case strings.HasSuffix(r.URL.Path, "/nimservices"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"List","metadata":{"resourceVersion":"9"},"items":[%s,%s]}`, service("a", 1, 1), service("b", 1, 1))
		default:
			http.NotFound(w, r)
		}
	})
	counters := filepath.Join(t.TempDir(), "counters.json")
	read := scrape(s, counters, false)
	_, text := read("")
	if strings.Contains(text, "nimops_resource_info{") || !strings.Contains(text, "workqueue_depth{") {
		t.Error(text) // A replica that is not the leader has listed nothing.
	}
	s.get("/apis/apps.nvidia.com/v1alpha1/nimservices?labelSelector=x") // Not the runtime's cache.
	s.get("/apis/apps.nvidia.com/v1alpha1/nimservices", "User-Agent", "kubectl/1")
	_, text = read("")
	equal(t, strings.Count(text, "nimops_resource_info{"), 0)
	s.get("/apis/apps.nvidia.com/v1alpha1/nimservices?resourceVersion=0")
	if err := os.WriteFile(counters, []byte(`{"NIMService":{"passes":7,"writes":12,"drift":2,"forked":6},`+
		`"ClusterPolicy":{"passes":3,"unready":1,"last_success":1767225900.5,"upgrades_available":2}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, text = read("")
	for _, line := range []string{
		`nimops_reconcile_duration_seconds_bucket{kind="NIMService",le="0.5"} 3`,
		`nimops_reconcile_duration_seconds_count{kind="NIMService"} 4`,
		`nimops_resource_state{kind="NIMService",namespace="ns",name="a",state="Ready"} 1`,
		`nimService_status_total{status="all"} 2`,
		`nimops_passes_total{kind="NIMService"} 7`,
		`nimops_writes_total{kind="NIMService"} 12`,
		`nimops_drift_corrected_total{kind="NIMService"} 2`,
		`nimops_forked_passes_total{kind="NIMService"} 6`,
		`gpu_operator_reconciliation_total 3`,
		`gpu_operator_reconciliation_failed_total 1`,
		`gpu_operator_reconciliation_last_success_ts_seconds 1767225900`,
		`gpu_operator_nodes_upgrades_available 2`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	w := s.watch("/apis/apps.nvidia.com/v1alpha1/nimservices?watch=1&resourceVersion=9")
	events.query(t)
	events.events <- `{"type":"DELETED","object":` + service("a", 2, 1) + `}`
	equal(t, w.next(), "DELETED a")
	events.events <- `{"type":"MODIFIED","object":` + strings.Replace(service("b", 3, 1), `"Ready"`, `"Failed"`, 1) + `}`
	equal(t, w.next(), "MODIFIED b")
	_, text = read("")
	if strings.Contains(text, `name="a"`) || !strings.Contains(text, `name="b",state="Failed"} 1`) {
		t.Error(text)
	}
}

func TestMetricsOtherRequests(t *testing.T) {
	s := start(t, 0, http.NotFound)
	handler := s.proxy.Metrics("", false)
	for request, status := range map[string]int{"GET /other": http.StatusNotFound, "POST /metrics": http.StatusMethodNotAllowed} {
		method, path, _ := strings.Cut(request, " ")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		equal(t, answer.Code, status, request)
	}
}

func TestMetricsWithoutRuntime(t *testing.T) {
	s := start(t, 0, http.NotFound)
	s.proxy.options.Metrics = "http://127.0.0.1:1/metrics"
	answer := httptest.NewRecorder()
	s.proxy.Metrics("", false).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, MetricsPath, nil))
	equal(t, answer.Code, http.StatusOK)
	equal(t, strings.Contains(answer.Body.String(), "# TYPE nimops_resource_info gauge"), true)
}

func TestMetricsRestricted(t *testing.T) {
	var asked atomic.Int64
	s := start(t, 0, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Spec struct {
				Token, User string
				Groups      []string
				Attributes  struct{ Path, Verb string } `json:"nonResourceAttributes"`
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		asked.Add(1)
		w.WriteHeader(http.StatusCreated)
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokenreviews") && body.Spec.Token == "broken":
			_, _ = io.WriteString(w, "{")
		case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
			fmt.Fprintf(w, `{"status":{"authenticated":%t,"user":{"username":%q,"groups":["g"]}}}`, body.Spec.Token != "unknown", body.Spec.Token)
		case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
			may := body.Spec.User == "prometheus" && body.Spec.Attributes.Path == MetricsPath && body.Spec.Attributes.Verb == "get" && body.Spec.Groups[0] == "g"
			fmt.Fprintf(w, `{"status":{"allowed":%t}}`, may)
		}
	})
	read := scrape(s, "", true)
	for token, want := range map[string]int{
		"": http.StatusUnauthorized, "unknown": http.StatusUnauthorized, "tenant": http.StatusForbidden,
		"prometheus": http.StatusOK, "broken": http.StatusInternalServerError,
	} {
		status, text := read(token)
		equal(t, status, want, token)
		equal(t, strings.Contains(text, "nimops_"), want == http.StatusOK, token)
	}
	before := asked.Load()
	for range 3 {
		if status, _ := read("prometheus"); status != http.StatusOK {
			t.Error(status)
		}
	}
	equal(t, asked.Load(), before) // The answer is remembered.
	for i := range 3 * manyTokens {
		read(fmt.Sprint("unknown", i))
	}
}
