// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"slices"
	"sync"

	"nimops.nim/apiproxy/internal/request"
)

// streams holds the open watches of the runtime.
type streams struct {
	mu   sync.Mutex
	open []*stream
	// opened is called when a watch opens.
	opened func()
}

func (s *streams) add(added *stream) {
	s.mu.Lock()
	s.open = append(s.open, added)
	s.mu.Unlock()
	s.opened()
}

func (s *streams) remove(removed *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(open *stream) bool { return open == removed })
}

// of returns the streams of a collection.
func (s *streams) of(collection request.Collection) []*stream {
	return s.where(func(open request.Collection) bool { return open == collection })
}

// covering returns the streams that include a resource in a namespace.
func (s *streams) covering(group, resource, namespace string) []*stream {
	return s.where(func(open request.Collection) bool {
		return open.Group == group && open.Resource == resource &&
			(open.Namespace == "" || open.Namespace == namespace)
	})
}

func (s *streams) where(is func(request.Collection) bool) []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*stream
	for _, open := range s.open {
		if is(open.collection) {
			found = append(found, open)
		}
	}
	return found
}

// body puts a stream between the body of a response and its reader. Events can be added only to the runtime's.
func (s *streams) body(opened *stream, upstream io.ReadCloser, isRuntime bool) io.ReadCloser {
	reader, writer := io.Pipe()
	opened.out = writer
	if isRuntime {
		s.add(opened)
	}
	go func() {
		err := opened.copy(upstream)
		s.remove(opened)
		_ = writer.CloseWithError(err)
	}()
	return &editedBody{reader, upstream}
}

// editedBody replaces the body of a response; Close closes both.
type editedBody struct {
	*io.PipeReader
	upstream io.Closer
}

func (e *editedBody) Close() error {
	_ = e.PipeReader.Close()
	return e.upstream.Close()
}
