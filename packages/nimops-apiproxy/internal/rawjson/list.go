// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package rawjson

import (
	"bufio"
	"errors"
	"io"
)

const buffer = 64 << 10

// ListEditor edits the items of a list.
type ListEditor struct {
	// Item returns the replacement of an item, or nil to omit it. The text is only valid during the call.
	Item func(item []byte) []byte
	// More returns items to append; it may be nil.
	More func() [][]byte
}

var errUnexpected = errors.New("not a list")

// EditList copies a Kubernetes list while it arrives and never holds more than one item. Text that is not a list
// is copied unchanged. It returns the list's metadata, and whether it parsed the whole list; the error is one of
// reading or writing.
func EditList(to io.Writer, from io.Reader, edit ListEditor) (metadata []byte, whole bool, err error) {
	in, isIn := from.(*bufio.Reader)
	if !isIn {
		in = bufio.NewReaderSize(from, buffer)
	}
	copier := &listCopier{in: in, out: bufio.NewWriterSize(to, buffer), edit: edit}
	err = copier.list()
	whole = err == nil
	if err == nil || errors.Is(err, errUnexpected) {
		if err = copier.out.Flush(); err == nil {
			_, err = in.WriteTo(to)
		}
	} else if flushed := copier.out.Flush(); flushed != nil {
		err = flushed
	}
	return copier.metadata, whole && err == nil, err
}

type listCopier struct {
	in       *bufio.Reader
	out      *bufio.Writer
	edit     ListEditor
	metadata []byte
	item     []byte
}

// list copies up to and including the closing brace.
func (c *listCopier) list() error {
	if err := c.expect('{'); err != nil {
		return err
	}
	next, err := c.peek()
	if err != nil {
		return err
	}
	for next != '}' {
		if next != '"' {
			return errUnexpected
		}
		if err := c.member(); err != nil {
			return err
		}
		if next, err = c.peek(); err != nil {
			return err
		}
		if next == ',' {
			if err := c.expect(','); err != nil {
				return err
			}
			if next, err = c.peek(); err != nil {
				return err
			}
		} else if next != '}' {
			return errUnexpected
		}
	}
	return c.expect('}')
}

func (c *listCopier) member() error {
	name, err := c.value(nil)
	if _, failed := c.out.Write(name); failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	if err := c.expect(':'); err != nil {
		return err
	}
	next, err := c.peek()
	if err != nil {
		return err
	}
	if string(name) == `"items"` && next == '[' {
		return c.items()
	}
	c.item, err = c.value(c.item[:0])
	if string(name) == `"metadata"` {
		c.metadata = append([]byte(nil), c.item...)
	}
	if _, failed := c.out.Write(c.item); failed != nil {
		return failed
	}
	return err
}

func (c *listCopier) items() error {
	if err := c.expect('['); err != nil {
		return err
	}
	written := 0
	write := func(item []byte) error {
		if item == nil {
			return nil
		}
		if written++; written > 1 {
			if err := c.out.WriteByte(','); err != nil {
				return err
			}
		}
		_, err := c.out.Write(item)
		return err
	}
	next, err := c.peek()
	for err == nil && next != ']' {
		if c.item, err = c.value(c.item[:0]); err != nil {
			// Copy the incomplete item, so that the reader notices that the list was cut off.
			_ = write(c.item)
			return err
		}
		if err = write(c.edit.Item(c.item)); err != nil {
			return err
		}
		if next, err = c.peek(); err == nil && next == ',' {
			_, _ = c.in.Discard(1)
			next, err = c.peek()
		} else if err == nil && next != ']' {
			return errUnexpected
		}
	}
	if err != nil {
		return err
	}
	if c.edit.More != nil {
		for _, item := range c.edit.More() {
			if err := write(item); err != nil {
				return err
			}
		}
	}
	return c.expect(']')
}

// peek skips space and returns the next byte without consuming it.
func (c *listCopier) peek() (byte, error) {
	for {
		next, err := c.in.ReadByte()
		if err != nil {
			return 0, cut(err)
		}
		if !isSpace(next) {
			return next, c.in.UnreadByte()
		}
	}
}

// expect copies one byte, which must be the expected one.
func (c *listCopier) expect(expected byte) error {
	next, err := c.peek()
	if err != nil {
		return err
	}
	if next != expected {
		return errUnexpected
	}
	_, _ = c.in.Discard(1)
	return c.out.WriteByte(next)
}

// value appends the next value, or the part before an error.
func (c *listCopier) value(text []byte) ([]byte, error) {
	depth, quoted := 0, false
	for {
		next, err := c.in.ReadByte()
		if err != nil {
			return text, cut(err)
		}
		if quoted {
			text = append(text, next)
			switch next {
			case '\\':
				if next, err = c.in.ReadByte(); err != nil {
					return text, cut(err)
				}
				text = append(text, next)
			case '"':
				if quoted = false; depth == 0 {
					return text, nil
				}
			}
			continue
		}
		switch next {
		case '"':
			quoted = true
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				// The end of a number or a word; the byte belongs to the surrounding value.
				if len(text) == 0 {
					return text, errors.Join(errUnexpected, c.in.UnreadByte())
				}
				return text, c.in.UnreadByte()
			}
			if next != ',' {
				depth--
			}
			if depth == 0 {
				return append(text, next), nil
			}
		default:
			if depth == 0 && isSpace(next) && len(text) > 0 {
				return text, c.in.UnreadByte()
			}
		}
		text = append(text, next)
	}
}

// cut turns an EOF inside a list into an error.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
