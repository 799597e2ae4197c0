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
	if d.filter {
		_, _, err := rawjson.EditList(to, from, rawjson.ListEditor{Item: func(item []byte) []byte {
			return p.triggers.annotate(d.collection, item, false)
		}})
		return err
	}
	reduce := p.options.Limits.Reduce
	if !d.isInformer || !p.deferral.isActive(d.collection) {
		_, _, err := rawjson.EditList(to, from, rawjson.ListEditor{Item: reduce})
		return err
	}
	before, deferring := p.deferral.begin(d.collection, d.query)
	edit, left := rawjson.ListEditor{Item: reduce}, func() []*withheld { return nil }
	if deferring {
		edit, left = p.deferral.editor(d.collection, p.options.Primaries.AtRest, before)
	}
	metadata, whole, err := rawjson.EditList(to, from, edit)
	if whole {
		p.deferral.finish(d.collection, metadata, deferring, left())
	}
	return err
}
