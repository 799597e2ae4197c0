// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestBacklog(t *testing.T) {
	const other, own = `workqueue_depth{controller="other",name="x",priority=""} `, `workqueue_depth{controller="own",name="x"} `
	workers := func(running, most string) string {
		return `controller_runtime_active_workers{controller="own"} ` + running + "\n" +
			`controller_runtime_max_concurrent_reconciles{controller="own"} ` + most + "\n" +
			`controller_runtime_active_workers{controller="other"} 4` + "\n"
	}
	for name, c := range map[string]struct {
		status  int
		metrics string
		since   time.Duration
		overdue bool
		want    bool
	}{
		"idle":                 {200, "# HELP a b\n" + own + "0\n" + other + "0\n", 0, false, true},
		"behind":               {200, own + "1\n" + other + "0\n", time.Hour, false, false},
		"a priority":           {200, own + "0\n" + `workqueue_depth{controller="own",priority="5"} 2` + "\n", time.Hour, false, false},
		"others behind":        {200, own + "0\n" + other + "3\n", 0, false, false},
		"others, for long":     {200, own + "0\n" + other + "3\n", time.Hour, false, true},
		"a worker is free":     {200, workers("0", "1"), 0, false, true},
		"the worker is busy":   {200, workers("1", "1"), 0, false, false},
		"half of two are busy": {200, workers("1", "2"), time.Second, false, false},
		"busy for long":        {200, workers("2", "2"), time.Hour, false, true},
		"a quarter is busy":    {200, workers("1", "4"), 0, false, true},
		"half of four is busy": {200, workers("2", "4"), 0, false, false},
		"overdue":              {200, workers("2", "2") + own + "0\n" + other + "3\n", 0, true, true},
		"overdue, and behind":  {200, own + "1\n", time.Hour, true, false},
		"no metrics":           {404, "", 0, false, true},
		"odd":                  {200, own + "x\n", 0, false, true},
		"empty":                {200, "", 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.metrics)
			}))
			defer server.Close()
			equal(t, newBacklog(server.URL).allows(context.Background(), "own", c.since, c.overdue), c.want)
		})
	}
	for _, url := range []string{"", "http://127.0.0.1:1", "%"} {
		if !newBacklog(url).allows(context.Background(), "own", 0, false) {
			t.Error(url)
		}
	}
}
