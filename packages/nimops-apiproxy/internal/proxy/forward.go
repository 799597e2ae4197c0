// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between the runtime and the API server. It forwards everything, and changes
// what the runtime's own lists and watches ask for and get.
package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"nimops.nim/apiproxy/internal/request"
	"nimops.nim/apiproxy/internal/stub"
	"nimops.nim/apiproxy/internal/watches"
)

// Larger bodies are streamed. What is held can be sent again when the API server closes a connection
// gracefully, as client-go does.
const largestHeld = 1 << 20

// Options are what a Proxy is made of.
type Options struct {
	Upstream  *Upstream
	Token     string
	Primaries *watches.Primaries
	// Selector is the label selector of what the runtime is to see.
	Selector string
	// Spread is how long after a start objects at rest are brought at the latest; 0 puts none off.
	Spread time.Duration
	// Interval is the time between two of them, if that suffices.
	Interval time.Duration
	// Metrics is the URL of the runtime's metrics; empty if they cannot be read.
	Metrics string
	// Runtime recognizes the runtime's requests.
	Runtime request.Runtime
	// Limits are those of a resource of watches.yaml: a larger one is seen as a stub.
	Limits stub.Limits
	// Namespaces are those that the runtime watches; empty for all.
	Namespaces []string
	// Say writes a line for the operator's log.
	Say func(string)
}

// Proxy is the handler of all requests, and what runs beside them.
type Proxy struct {
	options  Options
	selector url.Values
	streams  *streams
	deferral *deferral
	wakes    *wakes
	forward  *httputil.ReverseProxy
	handler  http.Handler
}

// New makes a Proxy; Run must run beside it.
func New(options Options) (*Proxy, error) {
	selector, err := labels.Parse(options.Selector)
	if err != nil {
		return nil, err
	}
	p := &Proxy{options: options, selector: url.Values{"labelSelector": {options.Selector}}, streams: &streams{}}
	p.deferral = newDeferral(options.Spread, options.Interval, options.Metrics, options.Upstream, p.streams)
	p.deferral.reduce = options.Limits.Reduce
	p.wakes = newWakes(options.Upstream, p.streams, selector)
	p.streams.opened = p.deferral.notify
	p.forward = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      options.Upstream.transport,
		ModifyResponse: p.modify,
		ErrorHandler:   p.fail,
		BufferPool:     &buffers{},
		// What it would log are ends of connections, which both sides see.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	p.handler = authenticate(options.Token, http.HandlerFunc(p.serve))
	return p, nil
}

// Run does what is done beside requests, until the context ends.
func (p *Proxy) Run(ctx context.Context) {
	namespaces := p.options.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var running sync.WaitGroup
	running.Go(func() { p.deferral.run(ctx) })
	running.Go(func() { p.wakes.run(ctx) })
	for _, namespace := range namespaces {
		pods := followPods(p.options.Upstream, namespace, p.options.Selector, p.wakes.faults, p.options.Say)
		running.Go(func() { pods.run(ctx) })
	}
	if told := toldOfNodes(p.options.Primaries); len(told) > 0 {
		news := newNodeNews(p.options.Upstream, told, p.options.Say)
		running.Go(func() { news.run(ctx) })
	}
	running.Wait()
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// plan is what is done with a request and its answer.
type plan struct {
	collection request.Collection
	query      request.Query
	// filter adds the selector; edit looks at the answer.
	filter, edit bool
	// isPrimary says that it is about kinds of watches.yaml, isObject that it is about one object, and
	// isInformer that the runtime caches the answer.
	isPrimary, isObject, isInformer bool
	body                            []byte
	// patch says that the body is no longer the object that was to be written, but a merge patch.
	patch bool
}

type planKey struct{}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	made := p.plan(r)
	if made.edit && made.isPrimary && made.isInformer && made.query.Watch && made.query.InitialEvents && p.options.Spread > 0 {
		// A list in the form of events: a client falls back to a list and a watch, as it must with API
		// servers that lack this.
		answerError(w, http.StatusUnprocessableEntity, invalid,
			"sendInitialEvents: Forbidden: nimops-apiproxy answers lists and watches of this resource only")
		return
	}
	if r.ContentLength > 0 && r.ContentLength <= largestHeld {
		made.body = make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, made.body); err != nil {
			return // The client has gone.
		}
	}
	if r.ContentLength < 0 && r.Method == http.MethodPut && made.isObject {
		start, err := io.ReadAll(io.LimitReader(r.Body, largestHeld))
		if err != nil {
			return // The client has gone.
		}
		if len(start) < largestHeld {
			made.body, r.ContentLength = start, int64(len(start))
		} else {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(start), r.Body), r.Body}
		}
	}
	if r.Method == http.MethodPut && made.isObject && stub.Is(made.body) {
		if !p.options.Runtime.IsAuthor(r) {
			answerError(w, http.StatusUnprocessableEntity, invalid,
				"nimops-apiproxy: the resource is too large to be replaced: what was read of it is not the whole")
			return
		}
		object, _ := request.ParseObjectPath(r.URL.Path)
		made.body, made.patch = stub.Patch(made.body, object.IsStatus), true
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), planKey{}, made)))
}

// plan decides by the request alone. Of what is not in watches.yaml, only whole collections that the
// runtime asks for on its own behalf are touched. Leases, Events, Namespaces and
// CustomResourceDefinitions it asks for by name.
func (p *Proxy) plan(r *http.Request) *plan {
	if object, is := request.ParseObjectPath(r.URL.Path); is {
		return p.planObject(r, object)
	}
	collection, is := request.ParsePath(r.URL.Path)
	if !is || r.Method != http.MethodGet {
		return &plan{}
	}
	query, is := request.ParseQuery(r.URL.RawQuery)
	if !is {
		return &plan{}
	}
	made := &plan{
		collection: collection, query: query, isPrimary: p.options.Primaries.HasGroup(collection.Group),
		isInformer: p.options.Runtime.IsAuthor(r) && !query.Selects,
	}
	made.filter = made.isInformer && !made.isPrimary
	made.edit = (made.filter || made.isPrimary) && request.WantsJSON(r.Header)
	return made
}

// planObject reduces large objects of watches.yaml for every client, also in answers to writes.
func (p *Proxy) planObject(r *http.Request, object request.Object) *plan {
	if !p.options.Primaries.HasGroup(object.Collection.Group) {
		return &plan{}
	}
	isWhole := r.Method != http.MethodHead
	return &plan{
		collection: object.Collection, isPrimary: true, isObject: true, edit: isWhole && request.WantsJSON(r.Header),
	}
}

// isWhole returns whether the runtime sees all of a collection, as children in it lack our label.
// Taking over those of another operator must not add one, and a cluster has few DaemonSets.
func isWhole(collection request.Collection) bool {
	return collection.Group == "apps" && collection.Resource == "daemonsets"
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.options.Upstream.url)
	made := r.In.Context().Value(planKey{}).(*plan)
	if made.filter && !isWhole(made.collection) {
		r.Out.URL.RawQuery = strings.TrimPrefix(r.Out.URL.RawQuery+"&"+p.selector.Encode(), "&")
	}
	if made.edit {
		r.Out.Header.Set("Accept-Encoding", "identity")
	}
	if made.patch {
		r.Out.Method = http.MethodPatch
		r.Out.Header.Set("Content-Type", "application/merge-patch+json")
		r.Out.ContentLength = int64(len(made.body))
	}
	if made.body != nil {
		r.Out.Body = io.NopCloser(bytes.NewReader(made.body))
		r.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(made.body)), nil }
	}
}

func (p *Proxy) modify(response *http.Response) error {
	made := response.Request.Context().Value(planKey{}).(*plan)
	if !made.edit || response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "" ||
		!strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	switch {
	case made.isObject:
		return p.object(response)
	case made.query.Watch:
		watch := &stream{
			collection: made.collection, observe: p.observe, out: nil,
			position: made.query.ResourceVersion, bookmarks: made.query.Bookmarks,
		}
		if !made.isInformer {
			watch.observe = p.reduceEvent
		}
		response.Body = p.streams.body(watch, response.Body, made.isInformer)
	default:
		response.Body = p.list(made, response.Body)
	}
	response.Header.Del("Content-Length")
	response.ContentLength = -1
	return nil
}

// object reduces an object.
func (p *Proxy) object(response *http.Response) error {
	whole, err := io.ReadAll(io.LimitReader(response.Body, largestObject))
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	seen := p.options.Limits.Reduce(whole)
	response.Body = io.NopCloser(bytes.NewReader(seen))
	response.Header.Set("Content-Length", strconv.Itoa(len(seen)))
	response.ContentLength = int64(len(seen))
	return nil
}

// observe is called with each event of a stream, in order.
func (p *Proxy) observe(of *stream, found event) []byte {
	p.deferral.observe(found)
	if p.options.Primaries.HasGroup(of.collection.Group) {
		return p.reduceEvent(of, found)
	}
	if found.kind == "DELETED" {
		p.wakes.forget(of.collection, found.meta.namespace, found.meta.name)
		return nil
	}
	return p.wakes.annotate(of.collection, found.object, false)
}

func (p *Proxy) reduceEvent(_ *stream, found event) []byte {
	return p.options.Limits.Reduce(found.object)
}

// fail answers when the API server does not.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // The client has gone.
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		answerError(w, http.StatusServiceUnavailable, serviceUnavailable, "nimops-apiproxy: the API server cannot be reached: "+err.Error())
		return
	}
	answerError(w, http.StatusBadGateway, unknown, "nimops-apiproxy: the API server did not answer: "+err.Error())
}

// buffers are those that bodies are copied with.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if held, ok := b.pool.Get().(*[]byte); ok {
		return *held
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
