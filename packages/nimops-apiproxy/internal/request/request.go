// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package request parses the requests of the Kubernetes API as far as the proxy needs to.
package request

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Collection is a whole collection: of one namespace, of all namespaces, or of a cluster-scoped resource.
type Collection struct {
	Group, Version, Resource string
	// Namespace is empty for all namespaces.
	Namespace string
	// Root is the path of the API, such as /apis/apps/v1.
	Root string
}

// namespaceSubresources are subresources of a namespace, whose paths resemble collections.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// ParsePath returns the collection that a path names, and whether it names one.
func ParsePath(path string) (Collection, bool) {
	if !strings.HasPrefix(path, "/") {
		return Collection{}, false
	}
	parts := strings.Split(path[1:], "/")
	var found Collection
	switch {
	case len(parts) > 2 && parts[0] == "api":
		found.Version, parts = parts[1], parts[2:]
		found.Root = "/api/" + found.Version
	case len(parts) > 3 && parts[0] == "apis":
		found.Group, found.Version, parts = parts[1], parts[2], parts[3:]
		found.Root = "/apis/" + found.Group + "/" + found.Version
	default:
		return Collection{}, false
	}
	switch {
	case len(parts) == 1 && parts[0] != "":
		found.Resource = parts[0]
	case len(parts) == 3 && parts[0] == "namespaces" && parts[1] != "" && parts[2] != "" && !namespaceSubresources[parts[2]]:
		found.Namespace, found.Resource = parts[1], parts[2]
	default:
		// This includes the deprecated watch/… paths.
		return Collection{}, false
	}
	return found, true
}

// Object is one object of a collection, or its status.
type Object struct {
	Collection Collection
	Name       string
	IsStatus   bool
}

// ParseObjectPath returns the object that a path names, and whether it names one.
func ParseObjectPath(path string) (Object, bool) {
	// An object may be named status.
	if found, is := parseObject(path); is {
		return found, true
	}
	path, isStatus := strings.CutSuffix(path, "/status")
	found, is := parseObject(path)
	found.IsStatus = isStatus
	return found, is && isStatus
}

func parseObject(path string) (Object, bool) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 || at == len(path)-1 {
		return Object{}, false
	}
	collection, is := ParsePath(path[:at])
	return Object{Collection: collection, Name: path[at+1:]}, is
}

// Path returns the collection's own path.
func (c Collection) Path() string {
	if c.Namespace == "" {
		return c.Root + "/" + c.Resource
	}
	return c.Root + "/namespaces/" + c.Namespace + "/" + c.Resource
}

// ObjectPath returns the path of an object of the collection; namespace is empty if it is cluster-scoped.
func (c Collection) ObjectPath(namespace, name string) string {
	path := c.Root
	if namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	return path + "/" + c.Resource + "/" + url.PathEscape(name)
}

// Runtime recognizes the requests that the runtime makes on its own behalf.
type Runtime struct {
	// UserAgent is the part of its User-Agent before the slash: the base name of its program.
	UserAgent string
}

// IsAuthor reports whether a request is the runtime's own.
//
// Requests of playbooks pass the runtime's proxy, with their own User-Agent. For a client without one, the runtime
// adds its own, but its proxy also sets X-Forwarded-For.
func (r Runtime) IsAuthor(request *http.Request) bool {
	name, _, _ := strings.Cut(request.UserAgent(), "/")
	return name == r.UserAgent && request.Header.Get("X-Forwarded-For") == ""
}

// Query has the parameters of a list or watch.
type Query struct {
	Watch, Bookmarks, InitialEvents bool
	// Selects reports whether the query has a label or field selector.
	Selects         bool
	Limit, Continue string
	ResourceVersion string
}

// ParseQuery parses the parameters of a list or watch, and reports whether they are valid.
func ParseQuery(raw string) (Query, bool) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return Query{}, false
	}
	is := func(name string) bool {
		on, err := strconv.ParseBool(values.Get(name))
		return err == nil && on
	}
	return Query{
		Watch:           is("watch"),
		Bookmarks:       is("allowWatchBookmarks"),
		InitialEvents:   is("sendInitialEvents"),
		Selects:         values.Get("labelSelector") != "" || values.Get("fieldSelector") != "",
		Limit:           values.Get("limit"),
		Continue:        values.Get("continue"),
		ResourceVersion: values.Get("resourceVersion"),
	}, true
}

// WantsJSON reports whether a request accepts only whole objects as JSON: no Table, no metadata, no protobuf.
func WantsJSON(header http.Header) bool {
	for _, accept := range header.Values("Accept") {
		for kind := range strings.SplitSeq(accept, ",") {
			kind = strings.ToLower(strings.TrimSpace(kind))
			if kind != "*/*" && kind != "application/json" && kind != "application/json;stream=watch" {
				return false
			}
		}
	}
	return true
}
