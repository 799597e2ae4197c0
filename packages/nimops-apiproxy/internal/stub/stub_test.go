// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package stub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

var limits = Limits{Bytes: 8 << 10, Depth: 20}

const head = `"apiVersion":"apps.nvidia.com/v1alpha1","kind":"NIMService"`

// parts are the parts of a resource, each as JSON.
type parts struct{ metadata, spec, status string }

func (p parts) text() string {
	text := fmt.Sprintf(`{%s,"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7","generation":2%s}`, head, p.metadata)
	if p.spec != "" {
		text += `,"spec":` + p.spec
	}
	if p.status != "" {
		text += `,"status":` + p.status
	}
	return text + "}"
}

func env(count int) string {
	items := make([]string, count)
	for i := range items {
		items[i] = fmt.Sprintf(`{"name":"NAME_%d","value":"v"}`, i)
	}
	return `[` + strings.Join(items, ",") + `]`
}

func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

func long(bytes int) string { return `"` + strings.Repeat("x", bytes) + `"` }

// seen is a reduced resource.
type seen struct {
	Metadata struct {
		Name, UID, ResourceVersion string
		Annotations, Labels        map[string]string
		Finalizers                 []string
		OwnerReferences            []struct{ UID string }
		ManagedFields              []any
	}
	Spec   map[string]any
	Status map[string]any
}

func reduce(t *testing.T, text string) (seen, string) {
	t.Helper()
	given := []byte(text)
	reduced := limits.Reduce(given)
	if string(given) != text {
		t.Fatal("the given text has changed")
	}
	var found seen
	if err := json.Unmarshal(reduced, &found); err != nil {
		t.Fatalf("%v: %.300s", err, reduced)
	}
	return found, string(reduced)
}

func TestReduceWithinLimits(t *testing.T) {
	for name, text := range map[string]string{
		"small":         parts{spec: `{"env": ` + env(3) + ` }`, status: `{"state":"Ready"}`}.text(),
		"without spec":  parts{}.text(),
		"as large":      parts{spec: `{"a":` + long(limits.Bytes-170) + `}`}.text(),
		"as deep":       parts{spec: nested(limits.Depth - 1)}.text(),
		"no resource":   `{"kind":"Status","message":` + long(2*limits.Bytes) + `}`,
		"no object":     long(2 * limits.Bytes),
		"ours in a key": parts{spec: `{"nodeSelector":{"nimops.nim/oversized":"1"}}`}.text(),
	} {
		t.Run(name, func(t *testing.T) {
			if got := limits.Reduce([]byte(text)); string(got) != text {
				t.Errorf("%.300s", got)
			}
		})
	}
}

func TestReduceTooLarge(t *testing.T) {
	for name, c := range map[string]struct {
		given parts
		want  string
	}{
		"a list":            {parts{spec: `{"image":{},"env":` + env(1000) + `}`}, "spec.env"},
		"a map":             {parts{spec: `{"nodeSelector":{"a":` + long(6000) + `,"b":` + long(6000) + `}}`}, "spec.nodeSelector"},
		"a string":          {parts{spec: `{"a":{"b":` + long(9000) + `}}`}, "spec.a.b"},
		"in a list":         {parts{spec: `{"services":[{"name":"a"},{"spec":{"env":` + env(1000) + `}}]}`}, "spec.services[1].spec.env"},
		"many fields":       {parts{spec: `{"a":` + long(3000) + `,"b":` + long(3000) + `,"c":` + long(3000) + `}`}, "spec"},
		"an annotation":     {parts{metadata: `,"annotations":{"x":` + long(9000) + `}`, spec: "{}"}, "metadata.annotations.x"},
		"labels":            {parts{metadata: `,"labels":{"x":` + long(9000) + `}`}, "metadata.labels.x"},
		"a strange key":     {parts{spec: `{"a":{"b\nc\u0000<ü` + strings.Repeat("k", 100) + `":` + long(9000) + `}}`}, `spec.a.b?nc?u0000<?` + strings.Repeat("k", 51)},
		"not managedFields": {parts{metadata: `,"managedFields":[` + long(20000) + `]`, spec: `{"env":` + env(1000) + `}`}, "spec.env"},
		"not the status":    {parts{spec: `{"env":` + env(1000) + `}`, status: `{"a":` + long(50000) + `}`}, "spec.env"},
	} {
		t.Run(name, func(t *testing.T) {
			found, text := reduce(t, c.given.text())
			var reported excess
			if err := json.Unmarshal([]byte(found.Metadata.Annotations[Annotation]), &reported); err != nil {
				t.Fatal(err, text)
			}
			if reported.Field != c.want || reported.Limit != limits.Bytes || reported.Bytes <= limits.Bytes ||
				reported.Bytes%1024 != 0 || reported.FieldBytes < 3000 {
				t.Errorf("%+v", reported)
			}
			if found.Spec != nil || found.Metadata.ManagedFields != nil || found.Metadata.UID != "u" || found.Metadata.ResourceVersion != "7" {
				t.Errorf("%.300s", text)
			}
			if !Is([]byte(text)) {
				t.Error("no stub")
			}
		})
	}
}

func TestReduceTooDeep(t *testing.T) {
	for name, c := range map[string]struct {
		spec, want string
		depth      int
	}{
		"maps":  {`{"expose":{"router":{"eppConfig":{"config":` + nested(1000) + `}}}}`, "spec.expose.router.eppConfig.config.a.a.a", 1005},
		"lists": {`{"x":[1,` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `]}`, "spec.x[1][0][0][0][0][0]", 33},
		"just":  {nested(20), "spec.a.a.a.a.a.a.a", 21},
	} {
		t.Run(name, func(t *testing.T) {
			found, text := reduce(t, parts{spec: c.spec}.text())
			want, _ := json.Marshal(excess{Depth: c.depth, Limit: limits.Depth, Field: c.want})
			if got := found.Metadata.Annotations[Annotation]; got != string(want) || found.Spec != nil {
				t.Errorf("%s: %.300s", got, text)
			}
		})
	}
}

func TestReduceDeepAndLarge(t *testing.T) {
	// The API server accepts 10,000 levels.
	text := parts{spec: `{"a":` + strings.Repeat(`{"k":`+long(100)+`,"a":`, 10000) + "1" + strings.Repeat("}", 10001)}.text()
	found, _ := reduce(t, text)
	if !strings.HasPrefix(found.Metadata.Annotations[Annotation], `{"bytes":`) {
		t.Error(found.Metadata.Annotations)
	}
}

func TestReduceKeptFields(t *testing.T) {
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf(`{"uid":"o%d","kind":"Foreign","name":"abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz"}`, i)
	}
	many[299] = `{"uid":"controller","controller":true}`
	found, text := reduce(t, parts{
		metadata: `,"finalizers":["f","others/f"],"labels":{"l":"1"},"selfLink":"x","ownerReferences":[` + strings.Join(many, ",") + `]` +
			`,"annotations":{"nimops.nim/cache-state":"a=Ready","ansible.sdk.operatorframework.io/verbosity":"4","nimops.nim/long":` + long(300) +
			`,"kubectl.kubernetes.io/last-applied-configuration":` + long(100) + `,"` + Annotation + `":"forged"}`,
		spec:   `{"env":` + env(1000) + `}`,
		status: `{"state":"Failed","conditions":[{"type":"Failed"}]}`,
	}.text())
	if got := fmt.Sprint(found.Metadata.Finalizers, found.Metadata.Labels, found.Status); got != "[f others/f] map[l:1] map[conditions:[map[type:Failed]] state:Failed]" {
		t.Error(got)
	}
	if owners := found.Metadata.OwnerReferences; owners[len(owners)-1].UID != "controller" || len(owners) < 50 || len(owners) > 200 {
		t.Error(len(owners), owners[len(owners)-1])
	}
	annotations := found.Metadata.Annotations
	if len(annotations) != 3 || annotations["nimops.nim/cache-state"] != "a=Ready" || annotations["ansible.sdk.operatorframework.io/verbosity"] != "4" ||
		strings.Contains(text, "forged") {
		t.Error(annotations)
	}
}

func TestReduceStubSize(t *testing.T) {
	annotations, labels, status := []string{}, []string{}, []string{}
	for i := range 20000 {
		annotations = append(annotations, fmt.Sprintf(`"nimops.nim/%d":"v"`, i))
		labels = append(labels, fmt.Sprintf(`"l%d":"v"`, i))
		status = append(status, fmt.Sprintf(`"s%d":"v"`, i))
	}
	_, text := reduce(t, parts{
		metadata: `,"annotations":{` + strings.Join(annotations, ",") + `},"labels":{` + strings.Join(labels, ",") + `}`,
		status:   `{"state":"Ready",` + strings.Join(status, ",") + `,"profiles":` + long(100000) + `}`,
	}.text())
	if len(text) > 80<<10 || !strings.Contains(text, `"state":"Ready"`) {
		t.Error(len(text))
	}
}

func TestReduceManagedFieldsAndStatus(t *testing.T) {
	managed := `,"managedFields":[` + long(9000) + `]`
	for name, c := range map[string]struct{ given, want parts }{
		"managedFields": {parts{managed, `{"a":"b"}`, `{"state":"Ready"}`}, parts{"", `{"a":"b"}`, `{"state":"Ready"}`}},
		"status":        {parts{"", `{"a":"b"}`, `{"x":` + long(70000) + `}`}, parts{"", `{"a":"b"}`, `{"x":` + long(70000) + `}`}},
		"both":          {parts{managed, `{"a":"b"}`, `{"x":` + long(70000) + `}`}, parts{"", `{"a":"b"}`, `{"x":` + long(70000) + `}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := limits.Reduce([]byte(c.given.text())); string(got) != c.want.text() {
				t.Errorf("%.300s", got)
			}
		})
	}
}

func TestReduceForgedAnnotation(t *testing.T) {
	forged := `,"annotations":{"a":"b","` + Annotation + `":"{}"}`
	for name, given := range map[string]parts{
		"without spec":    {metadata: forged},
		"with a spec":     {metadata: forged, spec: `{"a":"b"}`},
		"cut":             {metadata: forged, spec: `{"a":"b"}`, status: `{"x":` + long(70000) + `}`},
		"of its own only": {metadata: `,"annotations":{"` + Annotation + `":"{}"}`},
	} {
		t.Run(name, func(t *testing.T) {
			found, text := reduce(t, given.text())
			if _, is := found.Metadata.Annotations[Annotation]; is || Is([]byte(text)) {
				t.Error(text)
			}
		})
	}
}

func TestReduceLongerVersion(t *testing.T) {
	text := parts{spec: `{"env":` + env(1000) + `}`}.text()
	before, _ := reduce(t, text)
	after, _ := reduce(t, strings.Replace(text, `"resourceVersion":"7"`, `"resourceVersion":"1234567890"`, 1))
	if a, b := before.Metadata.Annotations[Annotation], after.Metadata.Annotations[Annotation]; a != b {
		t.Error(a, b)
	}
}

func TestPatch(t *testing.T) {
	stub := `{"metadata":{"uid":"u","resourceVersion":"7","finalizers":["f"],"annotations":{"` + Annotation + `":"{}"}},"spec":{},"status":{"state":"x"}}`
	for name, c := range map[string]struct {
		isStatus bool
		given    string
		want     string
	}{
		"finalizers":  {false, stub, `{"metadata":{"uid":"u","resourceVersion":"7","finalizers":["f"]}}`},
		"the last":    {false, strings.Replace(stub, `"finalizers":["f"],`, "", 1), `{"metadata":{"uid":"u","resourceVersion":"7","finalizers":null}}`},
		"status":      {true, stub, `{"metadata":{"uid":"u","resourceVersion":"7"},"status":{"state":"x"}}`},
		"no status":   {true, `{"metadata":{"uid":"u"}}`, `{"metadata":{"uid":"u"},"status":{}}`},
		"no metadata": {false, `{}`, `{"metadata":{"finalizers":null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Patch([]byte(c.given), c.isStatus); string(got) != c.want {
				t.Errorf("%s", got)
			}
		})
	}
	for text, want := range map[string]bool{
		stub: true, strings.Replace(stub, `"spec":{}`, `"spec":{"a":1}`, 1): false, `{"spec":{}}`: false, "": false, "null": false,
		strings.Replace(stub, `"spec":{},`, "", 1): true,
	} {
		if Is([]byte(text)) != want {
			t.Error(text)
		}
	}
}

func FuzzReduce(f *testing.F) {
	f.Add([]byte(parts{spec: `{"env":` + env(3) + `}`}.text()))
	f.Add([]byte(parts{spec: nested(8)}.text()))
	f.Add([]byte(`{"metadata":{"annotations":"` + Annotation))
	f.Fuzz(func(t *testing.T, text []byte) {
		small := Limits{Bytes: 60, Depth: 5}
		reduced := small.Reduce(append([]byte(nil), text...))
		if json.Valid(text) && !json.Valid(reduced) {
			t.Errorf("%s became %s", text, reduced)
		}
		Is(reduced)
		Patch(reduced, false)
	})
}

func BenchmarkReduce(b *testing.B) {
	usual := Limits{Bytes: MaxBytes, Depth: MaxDepth}
	for name, given := range map[string]parts{
		"within limits": {metadata: `,"managedFields":[` + nested(10) + `]`, spec: `{"env":` + env(100) + `}`, status: `{"state":"Ready"}`},
		"too large":     {spec: `{"env":` + env(40000) + `}`},
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(given.text())
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				usual.Reduce(text)
			}
		})
	}
}
