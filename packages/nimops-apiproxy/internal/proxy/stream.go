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

// longestLine is the length of the longest event. A longer line passes unchanged.
const longestLine = largestObject

// event is a parsed line of a watch.
type event struct {
	kind   string
	object []byte
	meta   meta
	// start and end are the bounds of the object in the line.
	start, end int
}

// meta identifies an object.
type meta struct {
	namespace, name, uid, resourceVersion string
	owners                                []byte
	// text is the whole metadata.
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

// observer receives the events of a stream in order. It returns a replacement for the object, or nil to keep it.
type observer func(*stream, event) []byte

// stream is an open watch of the runtime. It forwards the API server's events, and others can be added.
type stream struct {
	collection request.Collection
	observe    observer

	mu  sync.Mutex
	out io.WriteCloser
	// position is the resourceVersion up to which the runtime has seen the collection. An added event carries
	// the version of its object, which may be far older or newer, and the runtime would resume from there. A
	// bookmark after it corrects that.
	position  string
	bookmarks bool
	// making counts the events that are being made. Meanwhile, touched has the objects whose events from the
	// API server passed: these are newer than the events being made.
	making  int
	touched map[string]bool
}

// copy forwards the API server's events until they end.
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

// readLine appends a line, or as much of it as longestLine allows.
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

// isSame reports whether two texts share their memory.
func isSame(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// begin announces that an event is being made; the caller must call end afterwards.
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

// errOvertaken means that the API server's own event for an object passed first.
var errOvertaken = errors.New("overtaken")

// add writes an event that was made after begin, unless an event for the object passed since. The added event
// could then be the older one and would stay in the runtime's cache, even if the object is deleted.
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
