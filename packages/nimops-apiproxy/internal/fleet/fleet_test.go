// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"nimops.nim/apiproxy/internal/request"
)

var (
	services    = request.Collection{Group: "apps.nvidia.com", Version: "v1alpha1", Resource: "nimservices"}
	caches      = request.Collection{Group: "apps.nvidia.com", Version: "v1alpha1", Resource: "nimcaches"}
	policies    = request.Collection{Group: "nvidia.com", Version: "v1", Resource: "clusterpolicies"}
	deployments = request.Collection{Group: "apps", Version: "v1", Resource: "deployments"}
	groups      = request.Collection{Group: "leaderworkerset.x-k8s.io", Version: "v1", Resource: "leaderworkersets"}
)

func service(name, status string, more ...string) []byte {
	spec := strings.Join(append([]string{`"image":{"repository":"nvcr.io/nim/llama","tag":"1.2"}`}, more...), ",")
	return fmt.Appendf(nil, `{"apiVersion":"apps.nvidia.com/v1alpha1","kind":"NIMService","metadata":{"name":%q,"namespace":"ns","uid":"uid-%s",`+
		`"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{%s},"status":{%s}}`, name, name, spec, status)
}

const (
	isReady = `"state":"Ready","operatorVersion":"0.1.0","model":{"name":"meta/llama"},"conditions":[` +
		`{"type":"Ready","status":"True","reason":"Ready","lastTransitionTime":"2026-01-01T00:05:00Z"},` +
		`{"type":"Failed","status":"False","reason":"Ready","lastTransitionTime":"2026-01-01T00:01:00Z"}]`
	isPending = `"state":"Pending"`
)

func deployment(name, owner string, replicas, ready int, limits string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"ns","uid":"child-%s","ownerReferences":[{"uid":"uid-%s","controller":true}]},`+
		`"spec":{"replicas":%d,"template":{"spec":{"containers":[{"resources":{"limits":{%s}}}]}}},`+
		`"status":{"replicas":%d,"readyReplicas":%d,"updatedReplicas":1}}`, name, name, owner, replicas, limits, replicas, ready)
}

func written(t *testing.T, f *Fleet) string {
	t.Helper()
	var text strings.Builder
	if err := f.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}

func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%s in\n%s", part, text)
		}
	}
}

const named = `kind="NIMService",namespace="ns",name="llm"`

func TestResource(t *testing.T) {
	f := New()
	f.List(services)
	f.Observe(services, service("llm", isReady))
	f.ObserveChild(deployments, deployment("llm", "llm", 3, 2, `"nvidia.com/gpu":"2","cpu":"4"`))
	has(t, written(t, f),
		`nimops_resource_info{`+named+`,model="meta/llama",image="nvcr.io/nim/llama:1.2",platform="standalone",operator_version="0.1.0"} 1`,
		`nimops_resource_state{`+named+`,state="Failed"} 0`,
		`nimops_resource_state{`+named+`,state="Ready"} 1`,
		`nimops_resource_condition{`+named+`,type="Ready",status="True",reason="Ready"} 1`,
		`nimops_resource_state_since_seconds{`+named+`} 1767225900`,
		`nimops_replicas{`+named+`,type="desired"} 3`,
		`nimops_replicas{`+named+`,type="ready"} 2`,
		`nimops_replicas{`+named+`,type="updated"} 1`,
		`nimops_gpus{`+named+`,device="nvidia.com/gpu",type="requested"} 6`,
		`nimops_gpus{`+named+`,device="nvidia.com/gpu",type="ready"} 4`,
		`nimService_status_total{status="Ready"} 1`,
		`nimService_status_total{status="all"} 1`,
		`nimService_status_total{status="Failed"} 0`,
	)
	lacks(t, written(t, f), "nimCache_status_total", "gpu_operator", `device="cpu"`)
	f.ObserveChild(deployments, deployment("llm", "llm", 3, 3, `"nvidia.com/gpu":"2"`))
	has(t, written(t, f), `nimops_replicas{`+named+`,type="ready"} 3`)
	f.Forget("child-llm")
	lacks(t, written(t, f), "nimops_replicas{")
	f.Forget("uid-llm")
	lacks(t, written(t, f), "llm")
}

func TestDevices(t *testing.T) {
	claims := `"draResources":[{"claimCreationSpec":{"devices":[{"deviceClassName":"gpu.nvidia.com","count":2},{"deviceClassName":"gpu.nvidia.com"}]}}]`
	f := New()
	f.Observe(services, service("llm", isReady, claims))
	f.ObserveChild(deployments, deployment("llm", "llm", 2, 1, ""))
	has(t, written(t, f),
		`nimops_gpus{`+named+`,device="gpu.nvidia.com",type="requested"} 6`,
		`nimops_gpus{`+named+`,device="gpu.nvidia.com",type="ready"} 3`,
	)
}

func TestGroups(t *testing.T) {
	pod := `{"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":8}}}]}}`
	f := New()
	f.Observe(services, service("llm", isReady))
	f.ObserveChild(groups, fmt.Appendf(nil, `{"metadata":{"uid":"g","ownerReferences":[{"uid":"uid-llm","controller":true}]},"spec":{"replicas":2,`+
		`"leaderWorkerTemplate":{"size":3,"leaderTemplate":%s,"workerTemplate":%s}},"status":{"replicas":2,"readyReplicas":1}}`, pod, pod))
	has(t, written(t, f),
		`nimops_gpus{`+named+`,device="nvidia.com/gpu",type="requested"} 48`,
		`nimops_gpus{`+named+`,device="nvidia.com/gpu",type="ready"} 24`,
	)
}

func TestProduct(t *testing.T) {
	of := `"nodeSelector":{"nvidia.com/gpu.product":"NVIDIA-H100"},`
	selecting := func(name, limits, selector string) []byte {
		return []byte(strings.Replace(string(deployment(name, "llm", 1, 1, limits)), `"containers"`, selector+`"containers"`, 1))
	}
	f := New()
	f.Observe(services, service("llm", isReady))
	f.ObserveChild(deployments, selecting("llm", `"nvidia.com/gpu":"2"`, of))
	has(t, written(t, f), `nimops_gpus{`+named+`,device="nvidia.com/gpu",product="NVIDIA-H100",type="requested"} 2`)
	f.ObserveChild(deployments, selecting("llm", `"nvidia.com/gpu":"2"`, `"nodeSelector":7,`))
	has(t, written(t, f), `nimops_gpus{`+named+`,device="nvidia.com/gpu",type="requested"} 2`)
}

func TestReplicasOfStatus(t *testing.T) {
	f := New()
	f.Observe(services, service("llm", isReady+`,"replicas":2,"availableReplicas":1`, `"inferencePlatform":"kserve"`))
	has(t, written(t, f), `nimops_replicas{`+named+`,type="ready"} 1`, `nimops_replicas{`+named+`,type="desired"} 2`)
}

func TestCache(t *testing.T) {
	f := New()
	f.List(caches)
	f.Observe(caches, []byte(`{"kind":"NIMCache","metadata":{"name":"c","namespace":"ns","uid":"c"},"spec":{"source":{"ngc":{"modelPuller":"nim:1"}}},`+
		`"status":{"state":"Odd","profiles":[{"model":"meta/llama"}],"selection":{"considered":5,"selected":["a","b"],"dropped":[{}]}}}`))
	has(t, written(t, f),
		`nimops_resource_info{kind="NIMCache",namespace="ns",name="c",model="meta/llama",image="nim:1",platform="",operator_version=""} 1`,
		`nimops_cache_profiles{namespace="ns",name="c",type="cached"} 1`,
		`nimops_cache_profiles{namespace="ns",name="c",type="selected"} 2`,
		`nimops_resource_state{kind="NIMCache",namespace="ns",name="c",state="Odd"} 1`,
		`nimCache_status_total{status="Odd"} 1`,
		`nimCache_status_total{status="PVC-Created"} 0`,
	)
}

func TestCacheBytes(t *testing.T) {
	f := New()
	f.List(caches)
	cache := func(download string) []byte {
		return fmt.Appendf(nil, `{"kind":"NIMCache","metadata":{"name":"c","namespace":"ns","uid":"c"},"status":{"state":"InProgress","download":%s}}`, download)
	}
	f.Observe(caches, cache(`{"bytes":5000000000000,"totalBytes":9000000000000}`))
	has(t, written(t, f), `nimops_cache_bytes{namespace="ns",name="c",type="downloaded"} 5000000000000`,
		`nimops_cache_bytes{namespace="ns",name="c",type="total"} 9000000000000`)
	f.Observe(caches, cache(`{"started":true}`))
	if text := written(t, f); strings.Contains(text, `nimops_cache_bytes{`) {
		t.Errorf("bytes of a download that reports none:\n%s", text)
	}
	f.Observe(caches, cache(`{"bytes":5,"totalBytes":5},"renewal":{"download":{"bytes":3,"totalBytes":8}}`))
	has(t, written(t, f), `nimops_cache_bytes{namespace="ns",name="c",type="downloaded"} 3`,
		`nimops_cache_bytes{namespace="ns",name="c",type="total"} 8`)
}

func TestClusterPolicy(t *testing.T) {
	policy := func(name, state string) []byte {
		return fmt.Appendf(nil, `{"kind":"ClusterPolicy","metadata":{"name":%q,"uid":%q},"spec":{"driver":{"upgradePolicy":{"autoUpgrade":true}}},"status":{"state":%q}}`,
			name, name, state)
	}
	f := New()
	f.List(policies)
	has(t, written(t, f), "gpu_operator_reconciliation_status -1")
	f.Observe(policies, policy("a", "ready"))
	f.Observe(policies, policy("b", "ignored"))
	has(t, written(t, f), "gpu_operator_reconciliation_status 1", "gpu_operator_driver_auto_upgrade_enabled 1",
		"gpu_operator_openshift_driver_toolkit_enabled 0")
	f.Observe(policies, []byte(strings.Replace(string(policy("a", "ready")), `"spec":{`, `"spec":{"operator":{"use_ocp_driver_toolkit":true},`, 1)))
	has(t, written(t, f), "gpu_operator_openshift_driver_toolkit_enabled -1")
	f.Observe(policies, policy("a", "notReady"))
	has(t, written(t, f), "gpu_operator_reconciliation_status 0")
}

func TestTimeToReady(t *testing.T) {
	f := New()
	f.now = func() time.Time { return time.Date(2026, 1, 1, 0, 1, 30, 0, time.UTC) }
	f.Observe(services, service("old", isReady))     // It may have become ready long ago.
	f.Observe(services, service("known", isPending)) // It may have been ready before.
	f.Observe(services, service("known", isReady))
	lacks(t, written(t, f), timeToReady+"_count")
	for _, status := range []string{"", isPending, isReady, isPending, isReady} {
		f.Observe(services, service("llm", status))
	}
	has(t, written(t, f),
		timeToReady+`_bucket{kind="NIMService",le="60"} 0`,
		timeToReady+`_bucket{kind="NIMService",le="120"} 1`,
		timeToReady+`_bucket{kind="NIMService",le="+Inf"} 1`,
		timeToReady+`_sum{kind="NIMService"} 90`,
		timeToReady+`_count{kind="NIMService"} 1`,
	)
}

func TestRetain(t *testing.T) {
	f := New()
	f.List(services)
	for _, name := range []string{"a", "b"} {
		f.Observe(services, service(name, isReady))
		f.ObserveChild(deployments, deployment(name, name, 1, 1, ""))
	}
	f.Retain(services)
	f.List(services)
	f.Observe(services, service("b", isReady))
	has(t, written(t, f), `nimService_status_total{status="all"} 2`)
	f.Retain(services)
	has(t, written(t, f), `nimService_status_total{status="all"} 1`)
	f.List(deployments)
	f.Retain(deployments)
	lacks(t, written(t, f), "nimops_replicas{")
}

func TestLabelsBounded(t *testing.T) {
	f := New()
	for i := range 2 * maxWords {
		status := fmt.Sprintf(`"conditions":[{"type":"Ready","status":"False","reason":"Reason%d"}]`, i)
		f.Observe(services, service(fmt.Sprint("s", i), status))
	}
	text := written(t, f)
	has(t, text, `nimops_resource_condition{kind="NIMService",namespace="ns",name="s599",type="Ready",status="False",reason="Other"} 1`)
	lacks(t, text, "Reason500")
	f = New()
	f.Observe(services, service("llm", `"model":{"name":"a\"b\\c\nd`+strings.Repeat("é", maxText)+`"}`))
	text = written(t, f)
	if at := strings.Index(text, `model="a\"b\\c\nd`); at < 0 {
		t.Error(text)
	} else if end := strings.Index(text[at:], `",image=`); end > maxText+20 || end < maxText-10 {
		t.Errorf("%d bytes", end)
	}
}

func TestRepeatedConditions(t *testing.T) {
	f := New()
	f.Observe(services, service("llm", `"conditions":[{"type":"Ready","status":"True","reason":"A"},{"type":"Ready","status":"True","reason":"A"}]`))
	if count := strings.Count(written(t, f), "nimops_resource_condition{"); count != 1 {
		t.Errorf("%d series", count)
	}
}

func TestUnexpectedObjects(t *testing.T) {
	f := New()
	for _, text := range []string{
		``, `[]`, `{}`, `null`, `{"metadata":{"uid":"u","creationTimestamp":5}}`, `{"metadata":{"uid":"u"},"spec":3,"status":"x"}`,
		`{"metadata":{"uid":"u"},"spec":{"image":{"tag":7}},"status":{"conditions":{},"replicas":"many"}}`,
	} {
		f.Observe(services, []byte(text))
		f.ObserveChild(deployments, []byte(text))
	}
	has(t, written(t, f), `nimops_resource_state{kind="",namespace="",name="",state="Unknown"} 1`)
}

// slowdown is the factor by which a test takes longer than the program.
var slowdown time.Duration = 1

// many returns a Fleet with 2,000 services and their workloads.
func many() *Fleet {
	f := New()
	for i := range 2000 {
		name := fmt.Sprintf("a-service-with-a-usual-name-%d", i)
		f.Observe(services, service(name, isReady))
		f.ObserveChild(deployments, deployment(name, name, 2, 2, `"nvidia.com/gpu":"1"`))
	}
	return f
}

// shortest returns the least processor time of some calls: other work on the machine makes the time on the clock longer.
func shortest(t *testing.T, call func()) time.Duration {
	t.Helper()
	found := time.Duration(math.MaxInt64)
	for range 5 {
		before := processorTime(t)
		call()
		found = min(found, processorTime(t)-before)
	}
	return found
}

// The goals for 2,000 resources are 20 MiB of memory, and 100 ms of processor time for a scrape, also after a change of each
// resource.
func TestManyResources(t *testing.T) {
	before := heap()
	f := many()
	changed := shortest(t, func() {
		for _, held := range f.resources {
			held.text = nil
		}
		_ = f.Write(io.Discard)
	})
	unchanged := shortest(t, func() { _ = f.Write(io.Discard) })
	used := float64(heap()-before) / (1 << 20)
	t.Logf("%.1f MiB, %v for a scrape after changes, %v for another", used, changed, unchanged)
	if goal := slowdown * 100 * time.Millisecond; used > 20 || changed > goal || unchanged > goal {
		t.Errorf("%.1f MiB, %v, %v", used, changed, unchanged)
	}
	runtime.KeepAlive(f)
}

// Without events and scrapes, nothing runs.
func TestAtRest(t *testing.T) {
	before := runtime.NumGoroutine()
	f := many()
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines after %d", now, before)
	}
	used := processorTime(t)
	time.Sleep(200 * time.Millisecond)
	if used = processorTime(t) - used; used > 10*time.Millisecond {
		t.Errorf("%v of processor time", used)
	}
	runtime.KeepAlive(f)
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var found syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &found); err != nil {
		t.Fatal(err)
	}
	return time.Duration(found.Utime.Nano() + found.Stime.Nano())
}

func BenchmarkObserve(b *testing.B) {
	f, object := many(), service("a-service-with-a-usual-name-7", isReady)
	for b.Loop() {
		f.Observe(services, object)
	}
}

func BenchmarkWrite(b *testing.B) {
	f := many()
	for b.Loop() {
		_ = f.Write(io.Discard)
	}
}

func heap() uint64 {
	runtime.GC()
	var found runtime.MemStats
	runtime.ReadMemStats(&found)
	return found.HeapAlloc
}

type slow struct{ fleet *Fleet }

func (s slow) Write(text []byte) (int, error) {
	s.fleet.Forget("other") // A watch must not wait for a reader.
	return len(text), nil
}

func TestWriteToSlowReader(t *testing.T) {
	f := New()
	f.Observe(services, service("llm", isReady))
	if err := f.Write(slow{f}); err != nil {
		t.Error(err)
	}
}

func TestEndpointPicker(t *testing.T) {
	f := New()
	f.Observe(services, service("llm", isReady))
	f.ObserveChild(deployments, deployment("llm", "llm", 3, 2, ""))
	f.ObserveChild(deployments, deployment("llm-epp", "llm", 5, 5, ""))
	has(t, written(t, f), `nimops_replicas{`+named+`,type="desired"} 3`)
}
