// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package watches

import (
	"fmt"
	"testing"
	"time"
)

func TestAtRest(t *testing.T) {
	primaries, err := parse([]byte(`
- {group: a.b, version: v1, kind: WithFinalizer, finalizer: {name: f}}
- {group: a.b, version: v1, kind: Without, reconcilePeriod: 1m}
`))
	if err != nil {
		t.Fatal(err)
	}
	const usual, ready = `"generation":2,"finalizers":["x","f"]`, `"observedGeneration":2,"state":"Ready"`
	for name, c := range map[string]struct {
		kind, metadata, status string
		want                   bool
	}{
		"at rest":          {"WithFinalizer", usual, ready, true},
		"by condition":     {"WithFinalizer", usual, `"observedGeneration":2,"conditions":[{"type":"A"},{"type":"Ready","status":"True"}]`, true},
		"no finalizer yet": {"WithFinalizer", `"generation":2,"finalizers":["x"]`, ready, false},
		"none wanted":      {"Without", `"generation":2`, ready, true},
		"changed":          {"WithFinalizer", `"generation":3,"finalizers":["f"]`, ready, false},
		"being deleted":    {"WithFinalizer", usual + `,"deletionTimestamp":"t"`, ready, false},
		"not ready":        {"WithFinalizer", usual, `"observedGeneration":2,"state":"NotReady","conditions":[{"type":"Ready","status":"False"}]`, false},
		"no status":        {"WithFinalizer", usual, ``, false},
		"no generation":    {"Without", ``, `"state":"Ready"`, false},
		"another kind":     {"Other", usual, ready, false},
		"odd":              {"Without", `"generation":"2"`, ready, false},
	} {
		t.Run(name, func(t *testing.T) {
			object := fmt.Sprintf(`{"apiVersion":"a.b/v1","kind":%q,"metadata":{%s},"status":{%s}}`, c.kind, c.metadata, c.status)
			routine, got := primaries.AtRest([]byte(object))
			if got != c.want {
				t.Error(got)
			}
			want := map[string]Routine{
				"WithFinalizer": {"withfinalizer-v1-controller", defaultPeriod},
				"Without":       {"without-v1-controller", time.Minute},
			}[c.kind]
			if got && routine != want {
				t.Error(routine)
			}
		})
	}
	if !primaries.Has("a.b/v1", "Without") || primaries.Has("a.b/v2", "Without") || primaries.Has("a.b/v1", "Other") {
		t.Error("kinds")
	}
	if !primaries.HasGroup("a.b") || primaries.HasGroup("") || primaries.HasGroup("b") {
		t.Error("groups")
	}
}

func TestParseInvalidFile(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "- {group: a, version: v1}", "- {group: a, version: v1, kind: A, reconcilePeriod: 5}", "text"} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if _, err := Load("/does/not/exist"); err == nil {
		t.Error("no error")
	}
}

func TestLoadOperatorFile(t *testing.T) {
	primaries, err := Load("../../../../watches.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !primaries.HasGroup("apps.nvidia.com") || len(primaries.kinds) < 4 {
		t.Error(primaries)
	}
}
