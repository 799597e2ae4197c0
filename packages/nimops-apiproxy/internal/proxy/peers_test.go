// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import "testing"

func TestPeersObserve(t *testing.T) {
	calls := 0
	p := newPeers(func() { calls++ })
	gone, live := true, false
	for _, step := range []struct {
		name, metadata string
		isGone         bool
		want           int
	}{
		{"the first", `"name":"a","uid":"1"`, live, 0},
		{"its status", `"name":"a","uid":"1"`, live, 0},
		{"its spec while alone", `"name":"a","uid":"1","generation":2`, live, 0},
		{"recreated while alone", `"name":"a","uid":"2"`, live, 0},
		{"the second", `"name":"b","uid":"3"`, live, 1},
		{"its status", `"name":"b","uid":"3"`, live, 1},
		{"recreated", `"name":"b","uid":"4","generation":1`, live, 2},
		{"its spec", `"name":"b","uid":"4","generation":2`, live, 3},
		{"being deleted", `"name":"a","uid":"2","deletionTimestamp":"2026-01-01T00:00:00Z"`, live, 4},
		{"deleted", `"name":"a","uid":"2"`, gone, 4},
		{"the last", `"name":"b","uid":"4","generation":2`, gone, 4},
	} {
		p.observe(readMeta([]byte(`{"metadata":{`+step.metadata+`}}`)), nil, step.isGone)
		if calls != step.want {
			t.Errorf("%s: %d calls, not %d", step.name, calls, step.want)
		}
	}
}

func TestDigestForSeveral(t *testing.T) {
	a, b, again, ending := listener{identity: "a 1"}, listener{identity: "b 2"}, listener{identity: "b 3"}, listener{}
	for _, alone := range [][]listener{nil, {a}, {b}, {a, ending}} {
		equal(t, digestFor(alone, "nodes"), "nodes", alone)
	}
	both := digestFor([]listener{a, b}, "nodes")
	if both != digestFor([]listener{b, a}, "nodes") {
		t.Error("the order counts")
	}
	for _, others := range [][]listener{{a, again}, {a, b, again}} {
		if got := digestFor(others, "nodes"); got == both {
			t.Error(others)
		}
	}
	if both == digestFor([]listener{a, b}, "other nodes") {
		t.Error("nodes do not count")
	}
}
