// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"

	"nimops.nim/apiproxy/internal/rawjson"
)

// list returns a body that edits a list while it is read.
func (p *Proxy) list(d *decision, upstream io.ReadCloser) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		err := p.editList(d, writer, upstream)
		_ = writer.CloseWithError(err)
	}()
	return &editedBody{reader, upstream}
}

func (p *Proxy) editList(d *decision, to io.Writer, from io.Reader) error {
	edit, finish := p.editor(d)
	if d.isInformer {
		edit = p.recording(d, edit)
		if d.query.Continue == "" {
			p.fleet.List(d.collection)
		}
	}
	metadata, whole, err := rawjson.EditList(to, from, edit)
	if whole {
		finish(metadata)
		if d.isInformer && !hasMore(metadata) {
			p.fleet.Retain(d.collection)
		}
	}
	return err
}

// editor returns how to edit a list, and what to do after it has passed.
func (p *Proxy) editor(d *decision) (rawjson.ListEditor, func(metadata []byte)) {
	nothing := func([]byte) {}
	if d.filter {
		return rawjson.ListEditor{Item: func(item []byte) []byte {
			return p.triggers.annotate(d.collection, item, false)
		}}, nothing
	}
	edit := rawjson.ListEditor{Item: p.options.Limits.Reduce}
	if !d.isInformer || !p.deferral.isActive(d.collection) {
		return edit, nothing
	}
	left := func() []*withheld { return nil }
	before, deferring := p.deferral.begin(d.collection, d.query)
	if deferring {
		edit, left = p.deferral.editor(d.collection, p.options.Primaries.AtRest, before)
	}
	return edit, func(metadata []byte) { p.deferral.finish(d.collection, metadata, deferring, left()) }
}

// recording returns an editor that also keeps the facts about each object that metrics report.
func (p *Proxy) recording(d *decision, edit rawjson.ListEditor) rawjson.ListEditor {
	next := edit.Item
	edit.Item = func(item []byte) []byte {
		if d.isPrimary {
			p.fleet.Observe(d.collection, item)
		} else {
			p.fleet.ObserveChild(d.collection, item)
		}
		return next(item)
	}
	return edit
}

// hasMore reports whether a list continues on another page.
func hasMore(metadata []byte) bool {
	next := rawjson.Find(metadata, "continue")
	return next != nil && string(next) != `""`
}
