// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"

	"nimops.nim/apiproxy/internal/rawjson"
)

// list edits a list on its way to the runtime.
func (p *Proxy) list(made *plan, upstream io.ReadCloser) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		err := p.editList(made, writer, upstream)
		_ = writer.CloseWithError(err)
	}()
	return &editedBody{reader, upstream}
}

func (p *Proxy) editList(made *plan, to io.Writer, from io.Reader) error {
	if made.filter {
		_, _, err := rawjson.EditList(to, from, rawjson.ListEditor{Item: func(item []byte) []byte {
			return p.wakes.annotate(made.collection, item, false)
		}})
		return err
	}
	reduce := p.options.Limits.Reduce
	if !made.isInformer || !p.deferral.concerns(made.collection) {
		_, _, err := rawjson.EditList(to, from, rawjson.ListEditor{Item: reduce})
		return err
	}
	before, deferring := p.deferral.begin(made.collection, made.query)
	edit, left := rawjson.ListEditor{Item: reduce}, func() []*withheld { return nil }
	if deferring {
		edit, left = p.deferral.editor(made.collection, p.options.Primaries.AtRest, before)
	}
	metadata, whole, err := rawjson.EditList(to, from, edit)
	if whole {
		p.deferral.finish(made.collection, metadata, deferring, left())
	}
	return err
}
