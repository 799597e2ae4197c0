// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFind(t *testing.T) {
	text := []byte(` {"a": {"b" : 1.50, "c":"x\"}"}, "d":[1,{"e":"]"}], "f":null, "g":true}`)
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"a", "b"}, "1.50"},
		{[]string{"a", "c"}, `"x\"}"`},
		{[]string{"d"}, `[1,{"e":"]"}]`},
		{[]string{"f"}, "null"},
		{[]string{"g"}, "true"},
		{[]string{"h"}, ""},
		{[]string{"d", "e"}, ""},
		{[]string{"a", "b", "c"}, ""},
	} {
		if got := string(Find(text, c.path...)); got != c.want {
			t.Errorf("%v: %s, not %s", c.path, got, c.want)
		}
	}
}

func TestMembersInvalidObject(t *testing.T) {
	for _, text := range []string{"", "x", "[", `{"a"`, `{"a":`, `{"a":1`, `{"a":"`, `{"a":"\`, `{"a":{"b":[}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`} {
		if Members([]byte(text), func([]byte, int, int) bool { return true }) {
			t.Errorf("%q passes for an object", text)
		}
	}
}

func TestAnnotate(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no annotations":    {`{"metadata":{"name":"x"}}`, `{"metadata":{"annotations":{"k/e":"v"},"name":"x"}}`},
		"empty metadata":    {`{"metadata":{}}`, `{"metadata":{"annotations":{"k/e":"v"}}}`},
		"no annotation":     {`{"metadata":{"annotations":{ }}}`, `{"metadata":{"annotations":{"k/e":"v" }}}`},
		"null":              {`{"metadata":{"annotations":null}}`, `{"metadata":{"annotations":{"k/e":"v"}}}`},
		"others":            {`{"metadata":{"annotations":{"a":"\"b"}}}`, `{"metadata":{"annotations":{"k/e":"v","a":"\"b"}}}`},
		"the same":          {`{"metadata":{"annotations":{"a":"b","k/e":"old"}}}`, `{"metadata":{"annotations":{"a":"b","k/e":"v"}}}`},
		"metadata later":    {`{"spec":{"metadata":{"n":1e400}},"metadata":{"a":1}}`, `{"spec":{"metadata":{"n":1e400}},"metadata":{"annotations":{"k/e":"v"},"a":1}}`},
		"no metadata":       {`{"spec":1}`, ""},
		"odd metadata":      {`{"metadata":[]}`, ""},
		"odd annotations":   {`{"metadata":{"annotations":"x"}}`, ""},
		"no object":         {`[]`, ""},
		"cut off":           {`{"metadata":{"annotations":{"a":`, ""},
		"spaces and breaks": {"{ \"metadata\" : {\n\"a\":1}}", "{ \"metadata\" : {\"annotations\":{\"k/e\":\"v\"},\n\"a\":1}}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Annotate([]byte(c.text), "k/e", "v")
			if ok != (c.want != "") || string(got) != c.want {
				t.Errorf("%s, not %s", got, c.want)
			}
			if ok && !json.Valid(got) {
				t.Error("not valid")
			}
		})
	}
}

func TestWithoutAnnotation(t *testing.T) {
	for object, want := range map[string]string{
		`{"metadata":{"annotations":{"a":"1","k":"2","b":"}"}}}`: `{"metadata":{"annotations":{"a":"1","b":"}"}}}`,
		`{"metadata":{"annotations":{"k":"2"},"name":"n"}}`:      `{"metadata":{"annotations":{},"name":"n"}}`,
		`{"metadata":{"annotations":{ "k" : "2" , "b":"1" }}}`:   `{"metadata":{"annotations":{"b":"1"}}}`,
		`{"metadata":{"annotations":{"a":"k"}}}`:                 `{"metadata":{"annotations":{"a":"k"}}}`,
		`{"metadata":{"annotations":{"k":"2"`:                    `{"metadata":{"annotations":{"k":"2"`,
		`{"metadata":{"annotations":["k"]}}`:                     `{"metadata":{"annotations":["k"]}}`,
		`{"metadata":"k"}`:                                       `{"metadata":"k"}`,
		`[]`:                                                     `[]`,
		``:                                                       ``,
	} {
		if got := string(WithoutAnnotation([]byte(object), "k")); got != want {
			t.Errorf("%s: %s", object, got)
		}
	}
}

func TestWithoutStatusFields(t *testing.T) {
	const status = `{"manager":"b","subresource":"status"}`
	for object, want := range map[string]string{
		`{"metadata":{"managedFields":[{"manager":"a"},` + status + ` , {"subresource":"scale"}]}}`: `{"metadata":{"managedFields":[{"manager":"a"},{"subresource":"scale"}]}}`,
		`{"metadata":{"managedFields":[ ` + status + ` ]}}`:                                         `{"metadata":{"managedFields":[]}}`,
		`{"metadata":{"managedFields":[{"subresource":"scale"}, 5]}}`:                               `{"metadata":{"managedFields":[{"subresource":"scale"}, 5]}}`,
		`{"metadata":{"managedFields":[` + status + `,`:                                             `{"metadata":{"managedFields":[` + status + `,`,
		`{"metadata":{"managedFields":[` + status + ` ` + status + `]}}`:                            `{"metadata":{"managedFields":[` + status + ` ` + status + `]}}`,
		`{"metadata":{"managedFields":{}}}`:                                                         `{"metadata":{"managedFields":{}}}`,
		`{"metadata":{}}`:                                                                           `{"metadata":{}}`,
	} {
		if got := string(WithoutStatusFields([]byte(object))); got != want {
			t.Errorf("%s: %s", object, got)
		}
	}
}

func TestWithStatusFields(t *testing.T) {
	const status = `{"manager":"b","subresource":"status"}`
	object := `{"metadata":{"managedFields":[{"manager":"a"},` + status + `,{"subresource":"scale"}]}}`
	patch := func(fields string) string {
		return `{"metadata":{"name":"x","managedFields":` + fields + `},"spec":{}}`
	}
	for name, c := range map[string]struct{ patch, object, want string }{
		"missing":         {patch(`[{"manager":"us"}]`), object, patch(`[` + status + `,{"manager":"us"}]`)},
		"empty":           {patch(`[ ]`), object, patch(`[` + status + ` ]`)},
		"present":         {patch(`[{"manager":"c","subresource":"status"}]`), object, patch(`[{"manager":"c","subresource":"status"}]`)},
		"none in object":  {patch(`[{"manager":"us"}]`), `{"metadata":{"managedFields":[{"manager":"a"}]}}`, patch(`[{"manager":"us"}]`)},
		"broken object":   {patch(`[{"manager":"us"}]`), `{"metadata":{"managedFields":[` + status, patch(`[{"manager":"us"}]`)},
		"null":            {patch(`null`), object, patch(`null`)},
		"another patch":   {`{"metadata":{"labels":{"managedFields":"a"}}}`, object, `{"metadata":{"labels":{"managedFields":"a"}}}`},
		"no object":       {patch(`[{"manager":"us"}]`), ``, patch(`[{"manager":"us"}]`)},
		"not of metadata": {`{"spec":{"managedFields":[]}}`, object, `{"spec":{"managedFields":[]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(WithStatusFields([]byte(c.patch), []byte(c.object))); got != c.want {
				t.Error(got)
			}
		})
	}
}

func withoutOdd(item []byte) []byte {
	if bytes.Contains(item, []byte("odd")) {
		return nil
	}
	return bytes.ToUpper(item)
}

func TestEditList(t *testing.T) {
	more := func() [][]byte { return [][]byte{[]byte("1"), []byte("2")} }
	for name, c := range map[string]struct {
		text, want, metadata string
		more                 func() [][]byte
	}{
		"usual":       {`{"kind":"L","metadata":{"resourceVersion":"1"},"items":[{"a":"x"},{"a":"odd"},{"a":"y]"}]}` + "\n", `{"kind":"L","metadata":{"resourceVersion":"1"},"items":[{"A":"X"},{"A":"Y]"}]}` + "\n", `{"resourceVersion":"1"}`, nil},
		"sorted keys": {`{"apiVersion":"v1","items":[{"a":1}],"kind":"L","metadata":{"continue":"c"}}`, `{"apiVersion":"v1","items":[{"A":1}],"kind":"L","metadata":{"continue":"c"}}`, `{"continue":"c"}`, nil},
		"all left":    {`{"items":["odd","odd"]}`, `{"items":[]}`, "", nil},
		"last left":   {`{"items":["a","odd"]}`, `{"items":["A"]}`, "", nil},
		"none":        {`{"items":[]}`, `{"items":[]}`, "", nil},
		"more":        {`{"items":["odd"],"x":1}`, `{"items":[1,2],"x":1}`, "", more},
		"after":       {`{"items":["a" , "odd" ] }`, `{"items":["A",1,2]}`, "", more},
		"null items":  {`{"items":null,"n":1e400}`, `{"items":null,"n":1e400}`, "", nil},
		"escapes":     {`{"items":["\"odd\\"],"x":"\\\"]"}`, `{"items":[],"x":"\\\"]"}`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for reader, from := range map[string]io.Reader{"all": strings.NewReader(c.text), "bytes": iotest.OneByteReader(strings.NewReader(c.text))} {
				var out bytes.Buffer
				metadata, whole, err := EditList(&out, from, ListEditor{Item: withoutOdd, More: c.more})
				if err != nil || !whole || out.String() != c.want || string(metadata) != c.metadata {
					t.Errorf("%s: %s, %s, %v, %v", reader, out.String(), metadata, whole, err)
				}
			}
		})
	}
}

func TestEditListNotAList(t *testing.T) {
	for _, text := range []string{`[1,2]`, `plain`, `{"items":{"a":1}} x`, `{"a" 1}`, `{"items":[1}`, `{"items":[1 2]}`, `{1:2}`, `{"a":1]`, `{"items":[,]}`} {
		var out bytes.Buffer
		_, whole, err := EditList(&out, strings.NewReader(text), ListEditor{Item: func(item []byte) []byte { return item }})
		if got := strings.ReplaceAll(out.String(), " ", ""); err != nil || got != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%s became %s, %v", text, out.String(), err)
		}
		if whole && text != `{"items":{"a":1}} x` {
			t.Errorf("%s passes for a list", text)
		}
	}
}

func TestEditListTruncated(t *testing.T) {
	whole := `{"metadata":{"a":1},"items":[{"a":"b"},{"c":"d\""}],"x":1}`
	for end := range len(whole) {
		var out bytes.Buffer
		_, complete, err := EditList(&out, strings.NewReader(whole[:end]), ListEditor{Item: func(item []byte) []byte { return item }})
		if !errors.Is(err, io.ErrUnexpectedEOF) || complete {
			t.Errorf("%s: %v", whole[:end], err)
		}
		if !strings.HasPrefix(whole, strings.TrimSuffix(out.String(), ",")) {
			t.Errorf("%s became %s", whole[:end], out.String())
		}
	}
}

func FuzzWithout(f *testing.F) {
	f.Add([]byte(`{"metadata":{"annotations":{"k":"v","a":"b"},"managedFields":[{"subresource":"status"},{}]}}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		edited := WithoutStatusFields(WithoutAnnotation(object, "k"))
		if json.Valid(object) && !json.Valid(edited) {
			t.Errorf("%s became %s", object, edited)
		}
		if restored := WithStatusFields(edited, object); json.Valid(object) && !json.Valid(restored) {
			t.Errorf("%s became %s", edited, restored)
		}
	})
}

func FuzzAnnotate(f *testing.F) {
	f.Add([]byte(`{"metadata":{"annotations":{"a":"b","k":"old"},"n":1.50},"x":[1,null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			_, _ = Annotate(text, "k", "v")
			return
		}
		got, ok := Annotate(text, "k", "v")
		if !ok {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s became %s", text, got)
		}
	})
}

func FuzzEditList(f *testing.F) {
	f.Add([]byte(`{"metadata":{"a":1},"items":[{"a":"b"},{"c":"d\""}],"x":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		_, _, _ = EditList(&out, bytes.NewReader(text), ListEditor{Item: func(item []byte) []byte { return item }})
		var before, after any
		if json.Unmarshal(text, &before) == nil {
			if json.Unmarshal(out.Bytes(), &after) != nil || !reflect.DeepEqual(before, after) {
				t.Fatalf("%s became %s", text, out.Bytes())
			}
		}
	})
}
