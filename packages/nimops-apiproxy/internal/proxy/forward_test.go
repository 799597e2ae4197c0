// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func noPods(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/prefix/api/v1/pods" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"method": r.Method, "uri": r.RequestURI, "header": r.Header, "length": len(body), "proto": r.Proto,
	})
}

type echoed struct {
	Method, URI, Proto string
	Header             http.Header
	Length             int
}

func (s *setup) echo(response *http.Response) echoed {
	s.Helper()
	defer response.Body.Close()
	var found echoed
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		s.Fatal(err)
	}
	return found
}

func TestAuthenticate(t *testing.T) {
	s := start(t, 0, noPods(echo))
	for name, c := range map[string]struct {
		headers []string
		status  int
		reason  string
	}{
		"the token":     {nil, 200, ""},
		"no token":      {[]string{"Authorization", ""}, 401, "Unauthorized"},
		"another":       {[]string{"Authorization", "Bearer the-tokem"}, 401, "Unauthorized"},
		"another way":   {[]string{"Authorization", "Basic " + token}, 401, "Unauthorized"},
		"impersonation": {[]string{"Impersonate-User", "root"}, 403, "Forbidden"},
		"extra":         {[]string{"Impersonate-Extra-A", "root"}, 403, "Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			response := s.request(context.Background(), http.MethodGet, "/version", nil, c.headers...)
			defer response.Body.Close()
			var status struct {
				Kind, Reason string
				Code         int
			}
			if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != c.status || status.Reason != c.reason || (c.status != 200 && (status.Kind != "Status" || status.Code != c.status)) {
				t.Errorf("%d %+v", response.StatusCode, status)
			}
		})
	}
}

func TestForwardUnchanged(t *testing.T) {
	s := start(t, 0, noPods(echo))
	body := bytes.Repeat([]byte("x"), 3<<20)
	for name, c := range map[string]struct {
		method, path string
		body         []byte
	}{
		"get":            {"GET", "/api/v1/namespaces/ns/configmaps/a%2Fb?x=1&y=%20&x=2", nil},
		"small body":     {"POST", "/api/v1/namespaces/ns/configmaps", body[:10]},
		"large body":     {"PATCH", "/apis/apps/v1/namespaces/ns/deployments/a?force=true", body},
		"delete":         {"DELETE", "/api/v1/namespaces/ns/configmaps/a", nil},
		"delete of many": {"DELETE", "/api/v1/namespaces/ns/configmaps", nil},
		"subresource":    {"GET", "/api/v1/namespaces/ns/pods/a/log?follow=true", nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := s.echo(s.request(context.Background(), c.method, c.path, bytes.NewReader(c.body),
				"Connection", "X-Hop", "X-Hop", "1", "X-End", "2"))
			if found.Method != c.method || found.URI != "/prefix"+c.path || found.Length != len(c.body) {
				t.Errorf("%+v", found)
			}
			equal(t, found.Header.Get("Authorization"), "Bearer "+credential, "authorization")
			if found.Header.Get("X-Hop") != "" || found.Header.Get("X-End") != "2" || found.Proto != "HTTP/2.0" {
				t.Errorf("%+v", found)
			}
		})
	}
	found := s.echo(s.request(context.Background(), "POST", "/apis", io.MultiReader(bytes.NewReader(body))))
	if found.Length != len(body) {
		t.Error("a body of unknown length", found.Length)
	}
}

// TestForwardAdoption: the operator reads a child from the runtime's cache, which lacks the entries for the status, and
// writes managedFields back.
func TestForwardAdoption(t *testing.T) {
	const (
		path   = "/apis/apps/v1/namespaces/ns/deployments/a"
		status = `{"manager":"controller","subresource":"status"}`
		given  = `{"metadata":{"resourceVersion":"7","managedFields":[{"manager":"us"}]}}`
		whole  = `{"metadata":{"resourceVersion":"7","managedFields":[` + status + `,{"manager":"us"}]}}`
	)
	var answer atomic.Int32
	came := make(chan string, 2)
	s := start(t, 0, noPods(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPatch {
			came <- string(body)
			return
		}
		w.WriteHeader(int(answer.Load()))
		_, _ = io.WriteString(w, `{"metadata":{"managedFields":[{"manager":"other"},`+status+`]}}`)
	}))
	for name, c := range map[string]struct {
		path, contentType, body string
		get, status             int
		want                    string
	}{
		"adoption":      {path, mergePatchType, given, http.StatusOK, http.StatusOK, whole},
		"of the status": {path + "/status", mergePatchType, given, http.StatusOK, http.StatusOK, given},
		"another type":  {path, "application/apply-patch+yaml", given, http.StatusOK, http.StatusOK, given},
		"other fields":  {path, mergePatchType, `{"metadata":{"labels":{}}}`, http.StatusInternalServerError, http.StatusOK, `{"metadata":{"labels":{}}}`},
		"gone":          {path, mergePatchType, given, http.StatusNotFound, http.StatusOK, given},
		"busy":          {path, mergePatchType, given, http.StatusTooManyRequests, http.StatusBadGateway, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer.Store(int32(c.get))
			response := s.request(context.Background(), http.MethodPatch, c.path, strings.NewReader(c.body), "Content-Type", c.contentType)
			_ = response.Body.Close()
			got := ""
			if len(came) > 0 {
				got = <-came
			}
			if response.StatusCode != c.status || got != c.want {
				t.Errorf("%d %s", response.StatusCode, got)
			}
		})
	}
}

func TestForwardFilter(t *testing.T) {
	s := start(t, 0, noPods(echo))
	const deployments = "/apis/apps/v1/deployments"
	for name, c := range map[string]struct {
		path    string
		headers []string
		want    string
	}{
		"list":             {deployments + "?limit=500&resourceVersion=0", nil, deployments + "?limit=500&resourceVersion=0&" + encoded},
		"no query":         {deployments, nil, deployments + "?" + encoded},
		"a page":           {"/api/v1/namespaces/ns/services?continue=x", nil, "/api/v1/namespaces/ns/services?continue=x&" + encoded},
		"watch":            {deployments + "?watch=true", nil, deployments + "?watch=true&" + encoded},
		"metadata only":    {deployments, []string{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}, deployments + "?" + encoded},
		"protobuf":         {deployments, []string{"Accept", "application/vnd.kubernetes.protobuf"}, deployments + "?" + encoded},
		"no label of ours": {"/apis/apps/v1/daemonsets?watch=true", nil, "/apis/apps/v1/daemonsets?watch=true"},
		"namespaces":       {"/api/v1/namespaces", nil, "/api/v1/namespaces?" + encoded},
		"a label":          {deployments + "?labelSelector=a", nil, deployments + "?labelSelector=a"},
		"a field":          {deployments + "?fieldSelector=metadata.name%3Da", nil, deployments + "?fieldSelector=metadata.name%3Da"},
		"no label":         {deployments + "?labelSelector=", nil, deployments + "?labelSelector=&" + encoded},
		"an object":        {"/apis/apps/v1/namespaces/ns/deployments/a", nil, "/apis/apps/v1/namespaces/ns/deployments/a"},
		"its status":       {"/apis/apps/v1/namespaces/ns/deployments/a/status", nil, "/apis/apps/v1/namespaces/ns/deployments/a/status"},
		"a namespace":      {"/api/v1/namespaces/ns", nil, "/api/v1/namespaces/ns"},
		"status of one":    {"/api/v1/namespaces/ns/status", nil, "/api/v1/namespaces/ns/status"},
		"a primary kind":   {"/apis/apps.nvidia.com/v1alpha1/nimservices", nil, "/apis/apps.nvidia.com/v1alpha1/nimservices"},
		"discovery":        {"/apis/apps/v1", nil, "/apis/apps/v1"},
		"groups":           {"/apis", nil, "/apis"},
		"another client":   {deployments, []string{"User-Agent", "kubectl/v1"}, deployments},
		"a longer name":    {deployments, []string{"User-Agent", "ansible-operator-x/v1"}, deployments},
		"leader election":  {deployments, []string{"User-Agent", "ansible-operator/v0.0.0 (linux/amd64) kubernetes/x/leader-election"}, deployments + "?" + encoded},
		"forwarded for it": {deployments, []string{"X-Forwarded-For", "127.0.0.1"}, deployments},
	} {
		t.Run(name, func(t *testing.T) {
			found := s.echo(s.request(context.Background(), "GET", c.path, nil, c.headers...))
			if found.URI != "/prefix"+c.want {
				t.Errorf("%s, not %s", found.URI, c.want)
			}
		})
	}
	for _, method := range []string{"POST", "DELETE", "PUT"} {
		if found := s.echo(s.request(context.Background(), method, deployments, nil)); found.URI != "/prefix"+deployments {
			t.Error(method, found.URI)
		}
	}
}

func TestForwardCompression(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = io.WriteString(zip, `{"items":[]}`)
	_ = zip.Close()
	s := start(t, 0, noPods(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		_, _ = fmt.Fprintf(w, "plain %q", r.Header.Get("Accept-Encoding"))
	}))
	for name, c := range map[string]struct {
		path, accept, want string
	}{
		"compressed":           {"/api/v1/namespaces/ns/configmaps/a", "application/json", packed.String()},
		"metadata, compressed": {"/apis/apps/v1/deployments", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", packed.String()},
		"parsed, uncompressed": {"/apis/apps/v1/deployments", "application/json", `plain "identity"`},
	} {
		equal(t, s.get(c.path, "Accept-Encoding", "gzip", "Accept", c.accept), c.want, name)
	}
	equal(t, s.get("/apis/apps/v1/deployments", "Accept-Encoding", "identity", "Accept", "application/vnd.kubernetes.protobuf"), `plain "identity"`)
}

func TestForwardStreaming(t *testing.T) {
	more := make(chan struct{})
	s := start(t, 0, noPods(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-more
		_, _ = io.WriteString(w, "second\n")
	}))
	response := s.request(context.Background(), "GET", "/api/v1/namespaces/ns/pods/a/log", nil)
	defer response.Body.Close()
	in := bufio.NewReader(response.Body)
	if line, _ := in.ReadString('\n'); line != "first\n" {
		t.Error(line)
	}
	close(more)
	if line, _ := in.ReadString('\n'); line != "second\n" {
		t.Error(line)
	}
}

func TestForwardClientDisconnect(t *testing.T) {
	for _, path := range []string{"/api/v1/namespaces/ns/pods/a/log", "/apis/apps/v1/deployments?watch=true", "/apis/apps.nvidia.com/v1alpha1/nimservices?watch=true"} {
		ended := make(chan struct{})
		s := start(t, time.Minute, noPods(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(ended)
		}))
		w := s.watch(path)
		w.next()
		w.stop()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("still running:", path)
		}
		eventually(t, "the stream is forgotten", func() bool {
			return len(s.proxy.streams.covering("apps", "deployments", "")) == 0
		})
	}
}

func TestForwardUpgrade(t *testing.T) {
	s := start(t, 0, noPods(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "SPDY/3.1" || r.Header.Get("Authorization") != "Bearer "+credential || r.ProtoMajor != 1 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		connection, buffered, _ := w.(http.Hijacker).Hijack()
		defer connection.Close()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		_ = buffered.Flush()
		line, _ := buffered.ReadString('\n')
		_, _ = buffered.WriteString("got " + line)
		_ = buffered.Flush()
	}))
	address, _ := url.Parse(s.url)
	connection, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, _ = fmt.Fprintf(connection, "POST /api/v1/namespaces/ns/pods/a/exec?command=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", token)
	in := bufio.NewReader(connection)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(response, err)
	}
	_, _ = io.WriteString(connection, "hello\n")
	if line, _ := in.ReadString('\n'); line != "got hello\n" {
		t.Error(line)
	}
}

func TestForwardServerDown(t *testing.T) {
	for name, c := range map[string]struct {
		serve  func(net.Conn)
		status int
		reason string
	}{
		"no listener": {nil, 503, "ServiceUnavailable"},
		"cut off":     {func(c net.Conn) { _ = c.Close() }, 502, ""},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			if c.serve == nil {
				_ = listener.Close()
			} else {
				go func() {
					for {
						connection, err := listener.Accept()
						if err != nil {
							return
						}
						c.serve(connection)
					}
				}()
			}
			s := startAt(t, 0, watchesYML, &rest.Config{Host: "http://" + listener.Addr().String()})
			var status struct {
				Kind, Reason, Message string
				Code                  int
			}
			text := s.get("/api/v1/namespaces/ns/configmaps/a")
			if err := json.Unmarshal([]byte(text), &status); err != nil {
				t.Fatal(err)
			}
			if status.Kind != "Status" || status.Code != c.status || status.Reason != c.reason || !strings.Contains(status.Message, "API server") {
				t.Errorf("%+v", status)
			}
		})
	}
}

func TestForwardInitialEvents(t *testing.T) {
	s := start(t, time.Minute, noPods(echo))
	for path, want := range map[string]int{
		"/apis/apps.nvidia.com/v1alpha1/nimservices?watch=true&sendInitialEvents=true": 422,
		"/apis/apps.nvidia.com/v1alpha1/nimservices?watch=true":                        200,
		"/apis/apps/v1/deployments?watch=true&sendInitialEvents=true":                  200,
	} {
		response := s.request(context.Background(), "GET", path, nil)
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Error(path, response.StatusCode)
		}
	}
}
