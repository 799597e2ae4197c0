// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"net/http"
	"testing"
)

func TestParsePath(t *testing.T) {
	for path, want := range map[string]Collection{
		"/api/v1/pods":                             {"", "v1", "pods", "", "/api/v1"},
		"/api/v1/namespaces":                       {"", "v1", "namespaces", "", "/api/v1"},
		"/api/v1/namespaces/ns/pods":               {"", "v1", "pods", "ns", "/api/v1"},
		"/apis/apps/v1/deployments":                {"apps", "v1", "deployments", "", "/apis/apps/v1"},
		"/apis/apps/v1/namespaces/ns/deployments":  {"apps", "v1", "deployments", "ns", "/apis/apps/v1"},
		"/apis/apps/v1/namespaces/ns":              {},
		"/api/v1/namespaces/ns/status":             {},
		"/api/v1/namespaces/ns/finalize":           {},
		"/api/v1/namespaces/ns/pods/a":             {},
		"/api/v1/namespaces/ns/pods/a/log":         {},
		"/api/v1/nodes/a/proxy/x":                  {},
		"/api/v1/watch/pods":                       {},
		"/apis/apps/v1/watch/namespaces/ns/things": {},
		"/apis/apps/v1":                            {},
		"/apis/apps/v1/":                           {},
		"/api/v1/namespaces//pods":                 {},
		"/apis":                                    {},
		"/api/v1":                                  {},
		"/":                                        {},
		"":                                         {},
		"api/v1/pods":                              {},
		"/version":                                 {},
	} {
		got, is := ParsePath(path)
		if is != (want.Resource != "") || got != want && is {
			t.Errorf("%s: %+v, %v", path, got, is)
		}
		if is && got.Path() != path {
			t.Errorf("%s became %s", path, got.Path())
		}
	}
}

func TestObjectPath(t *testing.T) {
	c, _ := ParsePath("/apis/apps/v1/deployments")
	if got := c.ObjectPath("ns", "a/b"); got != "/apis/apps/v1/namespaces/ns/deployments/a%2Fb" {
		t.Error(got)
	}
	if got := c.ObjectPath("", "a"); got != "/apis/apps/v1/deployments/a" {
		t.Error(got)
	}
}

func TestParseObjectPath(t *testing.T) {
	for path, want := range map[string]string{
		"/apis/g/v1/namespaces/ns/things/a":             "ns things a",
		"/apis/g/v1/namespaces/ns/things/a/status":      "ns things a of status",
		"/apis/g/v1/namespaces/ns/things/status":        "ns things status",
		"/apis/g/v1/namespaces/ns/things/status/status": "ns things status of status",
		"/apis/g/v1/policies/a":                         " policies a",
		"/apis/g/v1/policies/a/status":                  " policies a of status",
		"/apis/g/v1/policies/status":                    " policies status",
		"/apis/g/v1/namespaces/ns/things":               "",
		"/apis/g/v1/policies":                           "",
		"/apis/g/v1/namespaces/ns/things/a/scale":       "",
		"/apis/g/v1/namespaces/ns/things/":              "",
		"/":                                             "",
		"":                                              "",
	} {
		got := ""
		if found, is := ParseObjectPath(path); is {
			got = found.Collection.Namespace + " " + found.Collection.Resource + " " + found.Name
			if found.IsStatus {
				got += " of status"
			}
		}
		if got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestParseQuery(t *testing.T) {
	got, ok := ParseQuery("watch=1&allowWatchBookmarks=true&sendInitialEvents=false&limit=5&continue=c&resourceVersion=0&labelSelector=")
	if want := (Query{Watch: true, Bookmarks: true, Limit: "5", Continue: "c", ResourceVersion: "0"}); !ok || got != want {
		t.Errorf("%+v", got)
	}
	if _, ok := ParseQuery("%zz"); ok {
		t.Error("accepted")
	}
}

func TestWantsJSON(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                               true,
		"application/json":               true,
		"application/json, */*":          true,
		"application/json;as=Table;v=v1": false,
		"application/vnd.kubernetes.protobuf, application/json": false,
		"application/cbor": false,
	} {
		header := http.Header{}
		if accept != "" {
			header.Set("Accept", accept)
		}
		if got := WantsJSON(header); got != want {
			t.Error(accept, got)
		}
	}
}
