// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"nimops.nim/apiproxy/internal/request"
	"nimops.nim/apiproxy/internal/watches"
)

const services = "/apis/apps.nvidia.com/v1alpha1/nimservices"

// primary is a simulated API server with NIMServices.
type primary struct {
	*streamer
	mu      sync.Mutex
	lists   []string
	objects map[string]string
	// Answers of a GET that are not objects, by name.
	status map[string]int
	asked  []string
}

func newPrimary(lists ...string) *primary {
	return &primary{streamer: newStreamer(), lists: lists, objects: map[string]string{}, status: map[string]int{}}
}

// listOf is a list of such objects at rest; of one that is not if its name begins with "new".
func listOf(next string, names ...string) string {
	items := make([]string, 0, len(names))
	for _, name := range names {
		generation := 1
		if strings.HasPrefix(name, "new") {
			generation = 2
		}
		items = append(items, service(name, 5, generation))
	}
	return fmt.Sprintf(`{"apiVersion":"apps.nvidia.com/v1alpha1","items":[%s],"kind":"NIMServiceList","metadata":{"continue":%q,"resourceVersion":"100"}}`,
		strings.Join(items, ","), next)
}

func (p *primary) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Query().Get("watch") != "":
		p.streamer.serve(w, r)
	case strings.HasSuffix(r.URL.Path, services):
		p.mu.Lock()
		list := p.lists[0]
		if len(p.lists) > 1 {
			p.lists = p.lists[1:]
		}
		p.mu.Unlock()
		_, _ = io.WriteString(w, list)
	default:
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		p.mu.Lock()
		p.asked = append(p.asked, name)
		status, object := p.status[name], p.objects[name]
		p.mu.Unlock()
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		if object == "" {
			object = service(name, 7, 1)
		}
		_, _ = io.WriteString(w, object+"\n")
	}
}

func (p *primary) set(name string, status int, object string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status[name], p.objects[name] = status, object
}

const first = "?limit=500&resourceVersion=0"

var six = []string{"a", "b", "c", "d", "e", "f"}

// ranked returns the names in the order of their delivery.
func ranked(names ...string) []string {
	d := newDeferral(time.Hour, interval, "", &Upstream{}, &streams{})
	var items []*withheld
	for _, name := range names {
		items = append(items, &withheld{name: name, namespace: "ns", uid: "uid-" + name})
	}
	d.replace(request.Collection{}, items)
	var order []string
	for _, item := range d.order {
		order = append(order, item.name)
	}
	return order
}

func TestDeferralOrder(t *testing.T) {
	api := newPrimary(listOf("", append(six, "new", "new2")...))
	s := start(t, 300*time.Millisecond, noPods(api.serve))
	if got := names(t, s.get(services+first)); got != "new new2" {
		t.Fatal(got)
	}
	w := s.watch(services + "?watch=true&allowWatchBookmarks=true&resourceVersion=100")
	begun := time.Now()
	for _, name := range ranked(six...) {
		equal(t, w.next(), "ADDED "+name)
		equal(t, w.next(), "BOOKMARK @100")
	}
	if elapsed := time.Since(begun); elapsed < 100*time.Millisecond {
		t.Error("spread over", elapsed)
	}
	w.quiet(100 * time.Millisecond)
	if s.proxy.deferral.count() != 0 {
		t.Error("some left")
	}
}

func TestDeferralCompleteLists(t *testing.T) {
	full := "a b c d e f"
	for name, c := range map[string]struct {
		spread  time.Duration
		names   []string
		query   string
		headers []string
		want    string
	}{
		"few at rest":         {time.Minute, []string{"a", "new", "b", "c", "d"}, first, nil, "new a b c d"},
		"off":                 {0, six, first, nil, full},
		"not from a cache":    {time.Minute, six, "?limit=500", nil, full},
		"another client":      {time.Minute, six, first, []string{"User-Agent", "python-urllib3/2"}, full},
		"through the runtime": {time.Minute, six, first, []string{"X-Forwarded-For", "127.0.0.1"}, full},
		"a selection":         {time.Minute, six, first + "&labelSelector=x", nil, full},
	} {
		t.Run(name, func(t *testing.T) {
			api := newPrimary(listOf("", c.names...))
			s := start(t, c.spread, noPods(api.serve))
			equal(t, names(t, s.get(services+c.query, c.headers...)), c.want)
			if left := s.proxy.deferral.count(); left != 0 {
				t.Error(left, "withheld")
			}
		})
	}
}

func TestDeferralPages(t *testing.T) {
	api := newPrimary(listOf("c1", six[:3]...), listOf("c2", six[3:5]...), listOf("", "f", "new"), listOf("", six...))
	s := start(t, 10*time.Second, noPods(api.serve))
	var got []string
	for _, query := range []string{first, "?limit=500&continue=c1", "?limit=500&continue=c2"} {
		got = append(got, names(t, s.get(services+query)))
	}
	// The first page has few objects, and it is unknown yet that there are more.
	if strings.Join(got, ",") != "a b c,d e,new f" {
		t.Error(got)
	}
	api = newPrimary(listOf("c1", six[:5]...), listOf("", "f", "new"), listOf("", six...))
	s = start(t, 10*time.Second, noPods(api.serve))
	got = []string{names(t, s.get(services+first)), names(t, s.get(services+"?limit=500&continue=c1"))}
	if strings.Join(got, ",") != ",new" || s.proxy.deferral.count() != 6 {
		t.Error(got, s.proxy.deferral.count())
	}
	// A later list has everything.
	if got := names(t, s.get(services+"?resourceVersion=100")); got != "a b c d e f" || s.proxy.deferral.count() != 0 {
		t.Error(got)
	}
}

func TestDeferralServerEventFirst(t *testing.T) {
	api := newPrimary(listOf("", six...))
	s := start(t, 10*time.Second, noPods(api.serve))
	s.get(services + first)
	order := ranked(six...)
	w := s.watch(services + "?watch=true&resourceVersion=100")
	api.query(t)
	// The first one comes at once; and without a bookmark as none is wanted.
	equal(t, w.next(), "ADDED "+order[0])
	for i, kind := range []string{"MODIFIED", "DELETED"} {
		api.events <- fmt.Sprintf(`{"type":%q,"object":%s}`, kind, service(order[i+4], 101, 2))
		equal(t, w.next(), kind+" "+order[i+4])
	}
	for _, name := range order[1:4] {
		equal(t, w.next(), "ADDED "+name)
	}
	w.quiet(300 * time.Millisecond)
}

func TestDeferralFetchesCurrent(t *testing.T) {
	api := newPrimary(listOf("", six...))
	order := ranked(six...)
	api.set(order[1], http.StatusNotFound, "")
	api.set(order[2], 0, strings.ReplaceAll(service(order[2], 101, 1), "uid-", "other-"))
	api.set(order[3], http.StatusInternalServerError, "")
	api.set(order[4], 0, "no object")
	s := start(t, 100*time.Millisecond, noPods(api.serve))
	s.get(services + first)
	w := s.watch(services + "?watch=true&resourceVersion=100")
	for _, i := range []int{0, 5} {
		equal(t, w.next(), "ADDED "+order[i])
	}
	api.set(order[3], 0, "")
	api.set(order[4], 0, "")
	for range 2 {
		if got := w.next(); got != "ADDED "+order[3] && got != "ADDED "+order[4] {
			t.Error(got)
		}
	}
	eventually(t, "nothing is left", func() bool { return s.proxy.deferral.count() == 0 })
}

func TestDeferralNextWatch(t *testing.T) {
	api := newPrimary(listOf("", six...))
	s := start(t, 10*time.Second, noPods(api.serve))
	s.get(services + first)
	order := ranked(six...)
	w := s.watch(services + "?watch=true&resourceVersion=100")
	w.next()
	api.events <- ""
	seen := 1
	for w.next() != "end" {
		seen++
	}
	time.Sleep(300 * time.Millisecond)
	w = s.watch(services + "?watch=true&resourceVersion=100")
	for _, name := range order[seen:] {
		equal(t, w.next(), "ADDED "+name)
	}
}

func TestDeferralUrgentOwner(t *testing.T) {
	api, children := newPrimary(listOf("", six...)), newStreamer()
	s := start(t, time.Hour, noPods(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/services") {
			children.serve(w, r)
			return
		}
		api.serve(w, r)
	}))
	s.get(services + first)
	s.proxy.deferral.mu.Lock()
	for _, item := range s.proxy.deferral.order {
		item.due = time.Now().Add(time.Hour)
	}
	last := s.proxy.deferral.order[5]
	s.proxy.deferral.mu.Unlock()
	child := s.watch("/api/v1/services?watch=true")
	children.events <- `{"type":"MODIFIED","object":{"metadata":{"name":"child","ownerReferences":[{"uid":"` + last.uid + `"}]}}}`
	child.next()
	eventually(t, "it is urgent", func() bool {
		s.proxy.deferral.mu.Lock()
		defer s.proxy.deferral.mu.Unlock()
		return last.urgent
	})
	w := s.watch(services + "?watch=true")
	equal(t, w.next(), "ADDED "+last.name)
}

// TestDeferralOvertaken: an event must not follow a newer event that passes while its object is fetched.
func TestDeferralOvertaken(t *testing.T) {
	var out strings.Builder
	s := &stream{out: nopCloser{&out}, observe: func(*stream, event) []byte { return nil }}
	s.begin()
	if err := s.pass([]byte(`{"type":"DELETED","object":` + service("a", 9, 1) + "}\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.add("ADDED", []byte(service("a", 8, 1))); err != errOvertaken {
		t.Error(err)
	}
	if err := s.add("ADDED", []byte(service("b", 8, 1))); err != nil {
		t.Error(err)
	}
	s.end()
	equal(t, strings.Count(out.String(), "\n"), 2, out.String())
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func manyWithheld(of request.Collection, count int, period time.Duration) []*withheld {
	items := make([]*withheld, count)
	for i := range items {
		items[i] = &withheld{collection: of, uid: fmt.Sprint(of.Resource, i), name: fmt.Sprint(i), routine: watches.Routine{Period: period}}
	}
	return items
}

func TestDeferralPlan(t *testing.T) {
	services, caches := request.Collection{Resource: "nimservices"}, request.Collection{Resource: "nimcaches"}
	for name, c := range map[string]struct {
		services, caches int
		patience         time.Duration
		// When the last one of each is due, and how long two of them are apart.
		lastService, lastCache, apart time.Duration
	}{
		"none":       {0, 0, time.Hour, 0, 0, 0},
		"one":        {1, 0, time.Hour, 0, 0, 0},
		"few":        {50, 0, time.Hour, 9800 * time.Millisecond, 0, 200 * time.Millisecond},
		"many":       {2000, 0, time.Hour, 299850 * time.Millisecond, 0, 150 * time.Millisecond},
		"of two":     {1000, 1000, time.Hour, 299700 * time.Millisecond, 299700 * time.Millisecond, 300 * time.Millisecond},
		"impatience": {1000, 1000, time.Minute, 59940 * time.Millisecond, 299700 * time.Millisecond, 60 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeferral(5*time.Minute, interval, "", &Upstream{}, &streams{})
			begun := time.Now()
			d.now = func() time.Time { return begun }
			d.replace(caches, manyWithheld(caches, c.caches, time.Hour))
			d.replace(services, manyWithheld(services, c.services, c.patience))
			last, apart := map[request.Collection]time.Duration{}, map[request.Collection]time.Duration{}
			for _, item := range d.order {
				due := item.due.Sub(begun)
				apart[item.collection], last[item.collection] = due-last[item.collection], due
			}
			if last[services] != c.lastService || last[caches] != c.lastCache {
				t.Error("last:", last)
			}
			if got := apart[services]; (got-c.apart).Abs() > 10*time.Millisecond && c.services > 1 {
				t.Error("apart:", got)
			}
		})
	}
}

func TestDeferralUrgency(t *testing.T) {
	d := newDeferral(5*time.Minute, interval, "", &Upstream{}, &streams{})
	item := &withheld{uid: "1", routine: watches.Routine{Period: time.Minute}}
	begun := time.Now()
	d.replace(request.Collection{}, []*withheld{item})
	for after, want := range map[time.Duration]bool{0: false, 59 * time.Second: false, 61 * time.Second: true} {
		if urgent, overdue := d.urgency(item, begun.Add(after)); urgent || overdue != want {
			t.Error(after, urgent, overdue)
		}
	}
}

// TestDeferralNextLate: after a watch was closed for long, objects do not arrive all at once.
func TestDeferralNextLate(t *testing.T) {
	open := &streams{opened: func() {}}
	d := newDeferral(5*time.Minute, interval, "", &Upstream{}, open)
	items := manyWithheld(request.Collection{}, 10, time.Hour)
	d.replace(request.Collection{}, items)
	later := time.Now().Add(time.Hour)
	if item, _, _ := d.next(later, time.Time{}); item != nil {
		t.Error("delivered without a stream")
	}
	open.add(&stream{})
	if item, _, _ := d.next(later, time.Time{}); item == nil {
		t.Error("not delivered")
	}
	if item, _, wait := d.next(later, later); item != nil || wait != 100*time.Millisecond {
		t.Error(item, wait)
	}
	items[7].urgent = true
	if item, _, _ := d.next(later, later); item != items[7] {
		t.Error(item)
	}
}
