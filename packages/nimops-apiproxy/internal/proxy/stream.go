// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"nimops.nim/apiproxy/internal/rawjson"
	"nimops.nim/apiproxy/internal/request"
)

// A longer line is no event of Kubernetes: it passes without being looked at.
const longestLine = largestObject

// event is a line of a watch, as far as it is looked at.
type event struct {
	kind   string
	object []byte
	meta   meta
	// Where the object is in the line.
	start, end int
}

// meta identifies an object.
type meta struct {
	namespace, name, uid, resourceVersion string
	owners                                []byte
	// The whole metadata.
	text []byte
}

func readMeta(object []byte) meta {
	var found meta
	metadata := rawjson.Find(object, "metadata")
	found.text = metadata
	rawjson.Members(metadata, func(key []byte, start, end int) bool {
		value := metadata[start:end]
		switch string(key) {
		case "namespace":
			found.namespace = rawjson.Text(value)
		case "name":
			found.name = rawjson.Text(value)
		case "uid":
			found.uid = rawjson.Text(value)
		case "resourceVersion":
			found.resourceVersion = rawjson.Text(value)
		case "ownerReferences":
			found.owners = value
		}
		return true
	})
	return found
}

func readEvent(line []byte) (event, bool) {
	var found event
	whole := rawjson.Members(line, func(key []byte, start, end int) bool {
		switch string(key) {
		case "type":
			found.kind = rawjson.Text(line[start:end])
		case "object":
			found.object, found.start, found.end = line[start:end], start, end
		}
		return true
	})
	if !whole || found.kind == "" || found.object == nil {
		return event{}, false
	}
	found.meta = readMeta(found.object)
	return found, true
}

// observer is told of the events of a stream, in their order, and may replace an event's object; nil
// leaves it as it is.
type observer func(*stream, event) []byte

// stream is a watch of the runtime that is open. Events of the API server pass it, and others can be
// added.
type stream struct {
	collection request.Collection
	observe    observer

	mu  sync.Mutex
	out io.WriteCloser
	// The resourceVersion up to which the runtime has seen the collection. An added event carries that
	// of its object, which may be far older or newer: the runtime would continue from there. A bookmark
	// after it puts that right.
	position  string
	bookmarks bool
	// While an event is being made, the objects of which the API server's events have passed: what is
	// being made is older than those.
	making  int
	touched map[string]bool
}

// copy passes the API server's events on until they end.
func (s *stream) copy(from io.Reader) error {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		var err error
		line, err = readLine(in, line[:0])
		if len(line) > 0 {
			if failed := s.pass(line); failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
		if cap(line) > 1<<20 {
			line = nil
		}
	}
}

// readLine appends a line, or as much of it as may be held.
func readLine(in *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > longestLine {
			if errors.Is(err, bufio.ErrBufferFull) {
				err = nil
			}
			return line, err
		}
	}
}

func (s *stream) pass(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := readEvent(line); ok && found.kind != "ERROR" {
		if found.meta.resourceVersion != "" {
			s.position = found.meta.resourceVersion
		}
		if found.kind != "BOOKMARK" {
			if s.making > 0 {
				s.touched[found.meta.uid] = true
			}
			if object := s.observe(s, found); object != nil && !isSame(object, found.object) {
				line = rawjson.Replace(line, found.start, found.end, object)
			}
		}
	}
	_, err := s.out.Write(line)
	return err
}

// isSame returns whether two texts are one and the same.
func isSame(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// begin announces that an event is being made; end must follow.
func (s *stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.making++; s.making == 1 {
		s.touched = map[string]bool{}
	}
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.making--; s.making == 0 {
		s.touched = nil
	}
}

// errOvertaken says that the API server's own event of an object has passed.
var errOvertaken = errors.New("overtaken")

// add writes an event that was made after begin, unless the stream has told of the object since. If
// it has, what was made could be the older of both, and would remain: even an object that is gone.
func (s *stream) add(kind string, object []byte) error {
	identity := readMeta(object)
	head := rawjson.Find(object, "apiVersion")
	name := rawjson.Find(object, "kind")
	if identity.uid == "" || head == nil || name == nil {
		return errors.New("not an object")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.touched[identity.uid] {
		return errOvertaken
	}
	var text bytes.Buffer
	text.WriteString(`{"type":"` + kind + `","object":`)
	// An event is one line.
	text.Write(bytes.TrimSpace(object))
	text.WriteString("}\n")
	if s.bookmarks && s.position != "" && s.position != "0" {
		text.WriteString(`{"type":"BOOKMARK","object":{"kind":`)
		text.Write(name)
		text.WriteString(`,"apiVersion":`)
		text.Write(head)
		text.WriteString(`,"metadata":{"resourceVersion":"` + s.position + `"}}}` + "\n")
	}
	_, err := s.out.Write(text.Bytes())
	return err
}
