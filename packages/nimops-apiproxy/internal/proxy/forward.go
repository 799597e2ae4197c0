// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package proxy forwards requests between the runtime and the API server. It edits only the runtime's own
// lists and watches, and resources that are too large.
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

	"nimops.nim/apiproxy/internal/fleet"
	"nimops.nim/apiproxy/internal/rawjson"
	"nimops.nim/apiproxy/internal/request"
	"nimops.nim/apiproxy/internal/stub"
	"nimops.nim/apiproxy/internal/watches"
)

// largestHeld is the size up to which a request body is held in memory, so that it can be sent again when the
// API server closes a connection gracefully, as client-go does. Larger bodies are streamed.
const largestHeld = 1 << 20

const mergePatchType = "application/merge-patch+json"

// Options configure a Proxy.
type Options struct {
	Upstream  *Upstream
	Token     string
	Primaries *watches.Primaries
	// Selector is the label selector of the objects that the runtime sees.
	Selector string
	// Spread is the period after a start within which objects at rest are delivered; 0 disables deferral.
	Spread time.Duration
	// Interval is the time between two deliveries, if that is fast enough.
	Interval time.Duration
	// Metrics is the URL of the runtime's metrics; empty if they cannot be read.
	Metrics string
	// Runtime recognizes the runtime's requests.
	Runtime request.Runtime
	// Limits apply to resources of watches.yaml: a larger one is replaced by a stub.
	Limits stub.Limits
	// Namespaces are the namespaces that the runtime watches; empty for all.
	Namespaces []string
	// Log writes a line to the operator's log.
	Log func(string)
}

// Proxy handles all requests. Its background work is done by Run.
type Proxy struct {
	options  Options
	selector url.Values
	streams  *streams
	deferral *deferral
	triggers *triggers
	warnings *warnings
	fleet    *fleet.Fleet
	// nodes is nil if no kind depends on nodes.
	nodes   *nodeNotifier
	forward *httputil.ReverseProxy
	handler http.Handler
}

// New returns a Proxy; the caller must run Run as well.
func New(options Options) (*Proxy, error) {
	selector, err := labels.Parse(options.Selector)
	if err != nil {
		return nil, err
	}
	p := &Proxy{options: options, selector: url.Values{"labelSelector": {options.Selector}}, streams: &streams{}, fleet: fleet.New()}
	p.warnings = newWarnings(options.Log)
	p.deferral = newDeferral(options.Spread, options.Interval, options.Metrics, options.Upstream, p.streams)
	p.deferral.reduce = options.Limits.Reduce
	p.triggers = newTriggers(options.Upstream, p.streams, selector)
	p.streams.opened = p.deferral.notify
	if paths := nodeListenerPaths(options.Primaries); len(paths) > 0 {
		p.nodes = newNodeNotifier(options.Upstream, paths, options.Log)
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      options.Upstream.transport,
		ModifyResponse: p.modify,
		ErrorHandler:   p.fail,
		BufferPool:     &buffers{},
		// It would only log closed connections, which both sides notice.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	p.handler = authenticate(options.Token, http.HandlerFunc(p.serve))
	return p, nil
}

// Run does the background work until the context ends: deferral, triggers, and watches of pods and nodes.
func (p *Proxy) Run(ctx context.Context) {
	namespaces := p.options.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var running sync.WaitGroup
	running.Go(func() { p.deferral.run(ctx) })
	running.Go(func() { p.triggers.run(ctx) })
	for _, namespace := range namespaces {
		pods := followPods(p.options.Upstream, namespace, p.options.Selector, p.triggers.faults, p.options.Log)
		running.Go(func() { pods.run(ctx) })
	}
	if p.nodes != nil {
		running.Go(func() { p.nodes.run(ctx) })
	}
	running.Wait()
}

// ServeHTTP handles one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// decision describes how a request and its response are edited.
type decision struct {
	collection request.Collection
	query      request.Query
	// filter adds the selector to the request; edit edits the response.
	filter, edit bool
	// isPrimary: the request is for kinds of watches.yaml. isObject: it is for one object. isInformer: the
	// runtime caches the response.
	isPrimary, isObject, isInformer bool
	body                            []byte
	// patch: the body is a merge patch that replaces the object in the original request.
	patch bool
}

type decisionKey struct{}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == objectsPath {
		p.serveObjects(w, r)
		return
	}
	d := p.decide(r)
	if d.edit && d.isPrimary && d.isInformer && d.query.Watch && d.query.InitialEvents && p.options.Spread > 0 {
		// An initial list in the form of events. The client falls back to a list and a watch, as with API
		// servers that lack this feature.
		answerError(w, http.StatusUnprocessableEntity, invalid,
			"sendInitialEvents: Forbidden: nimops-apiproxy answers lists and watches of this resource only")
		return
	}
	if r.ContentLength > 0 && r.ContentLength <= largestHeld {
		d.body = make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, d.body); err != nil {
			return // The client disconnected.
		}
	}
	if r.ContentLength < 0 && r.Method == http.MethodPut && d.isObject {
		start, err := io.ReadAll(io.LimitReader(r.Body, largestHeld))
		if err != nil {
			return // The client disconnected.
		}
		if len(start) < largestHeld {
			d.body, r.ContentLength = start, int64(len(start))
		} else {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(start), r.Body), r.Body}
		}
	}
	if r.Method == http.MethodPatch {
		if err := p.keepStatusFields(r, d); err != nil {
			p.fail(w, r, err)
			return
		}
	}
	if r.Method == http.MethodPut && d.isObject && stub.Is(d.body) {
		if !p.options.Runtime.IsAuthor(r) {
			answerError(w, http.StatusUnprocessableEntity, invalid,
				"nimops-apiproxy: the resource is too large to be replaced: only a part of it was read")
			return
		}
		object, _ := request.ParseObjectPath(r.URL.Path)
		d.body, d.patch = stub.Patch(d.body, object.IsStatus), true
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), decisionKey{}, d)))
}

// keepStatusFields adds the entries for the status to a merge patch of managedFields. A client that read the object
// from the runtime's cache does not know them, because annotate removes them; without them, the API server forgets who
// owns the status and what is written along with it.
func (p *Proxy) keepStatusFields(r *http.Request, d *decision) error {
	of, is := request.ParseObjectPath(r.URL.Path)
	isMerge := strings.HasPrefix(r.Header.Get("Content-Type"), mergePatchType)
	if !is || of.IsStatus || !isMerge || rawjson.Find(d.body, "metadata", "managedFields") == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), fetchTimeout)
	defer cancel()
	object, err := p.options.Upstream.get(ctx, r.URL.Path)
	if isGone(err) {
		return nil // The API server answers the patch the same way.
	}
	d.body = rawjson.WithStatusFields(d.body, object)
	return err
}

// decide works from the request alone. For kinds that are not in watches.yaml, it edits only whole collections
// that the runtime requests on its own behalf. The runtime requests Leases, Events, Namespaces and
// CustomResourceDefinitions by name, so these pass unchanged.
func (p *Proxy) decide(r *http.Request) *decision {
	if object, is := request.ParseObjectPath(r.URL.Path); is {
		return p.decideObject(r, object)
	}
	collection, is := request.ParsePath(r.URL.Path)
	if !is || r.Method != http.MethodGet {
		return &decision{}
	}
	query, is := request.ParseQuery(r.URL.RawQuery)
	if !is {
		return &decision{}
	}
	d := &decision{
		collection: collection, query: query, isPrimary: p.options.Primaries.HasGroup(collection.Group),
		isInformer: p.options.Runtime.IsAuthor(r) && !query.Selects,
	}
	d.filter = d.isInformer && !d.isPrimary
	d.edit = (d.filter || d.isPrimary) && request.WantsJSON(r.Header)
	return d
}

// decideObject reduces large objects of watches.yaml for every client, also in answers to writes.
func (p *Proxy) decideObject(r *http.Request, object request.Object) *decision {
	if !p.options.Primaries.HasGroup(object.Collection.Group) {
		return &decision{}
	}
	isWhole := r.Method != http.MethodHead
	return &decision{
		collection: object.Collection, isPrimary: true, isObject: true, edit: isWhole && request.WantsJSON(r.Header),
	}
}

// isWhole reports whether the runtime sees all of a collection because children in it lack our label. A
// takeover from another operator must not add the label to DaemonSets, of which a cluster has few.
func isWhole(collection request.Collection) bool {
	return collection.Group == "apps" && collection.Resource == "daemonsets"
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.options.Upstream.url)
	d := r.In.Context().Value(decisionKey{}).(*decision)
	if d.filter && !isWhole(d.collection) {
		r.Out.URL.RawQuery = strings.TrimPrefix(r.Out.URL.RawQuery+"&"+p.selector.Encode(), "&")
	}
	if d.edit {
		r.Out.Header.Set("Accept-Encoding", "identity")
	}
	if d.patch {
		r.Out.Method = http.MethodPatch
		r.Out.Header.Set("Content-Type", mergePatchType)
	}
	if d.body != nil {
		r.Out.ContentLength = int64(len(d.body))
		r.Out.Body = io.NopCloser(bytes.NewReader(d.body))
		r.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(d.body)), nil }
	}
}

func (p *Proxy) modify(response *http.Response) error {
	p.warnings.note(response)
	d := response.Request.Context().Value(decisionKey{}).(*decision)
	if !d.edit || response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "" ||
		!strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	switch {
	case d.isObject:
		return p.object(response)
	case d.query.Watch:
		watch := &stream{
			collection: d.collection, observe: p.observe, out: nil,
			position: d.query.ResourceVersion, bookmarks: d.query.Bookmarks,
		}
		if !d.isInformer {
			watch.observe = p.reduceEvent
		}
		response.Body = p.streams.body(watch, response.Body, d.isInformer)
	default:
		response.Body = p.list(d, response.Body)
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

// observe edits an event of a stream; it is called in order.
func (p *Proxy) observe(of *stream, found event) []byte {
	p.deferral.observe(found)
	isPrimary := p.options.Primaries.HasGroup(of.collection.Group)
	p.record(of.collection, isPrimary, found)
	if isPrimary {
		return p.reduceEvent(of, found)
	}
	if found.kind == "DELETED" {
		p.triggers.forget(of.collection, found.meta.namespace, found.meta.name)
		return nil
	}
	return p.triggers.annotate(of.collection, found.object, false)
}

// record keeps the facts about an object that metrics report.
func (p *Proxy) record(of request.Collection, isPrimary bool, found event) {
	switch {
	case found.kind == "DELETED":
		p.fleet.Forget(found.meta.uid)
	case isPrimary:
		p.fleet.Observe(of, found.object)
	default:
		p.fleet.ObserveChild(of, found.object)
	}
}

func (p *Proxy) reduceEvent(_ *stream, found event) []byte {
	return p.options.Limits.Reduce(found.object)
}

// fail answers a request that the API server did not answer.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // The client disconnected.
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		answerError(w, http.StatusServiceUnavailable, serviceUnavailable, "nimops-apiproxy: the API server cannot be reached: "+err.Error())
		return
	}
	answerError(w, http.StatusBadGateway, unknown, "nimops-apiproxy: the API server did not answer: "+err.Error())
}

// buffers is a pool of buffers to copy bodies with.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if held, ok := b.pool.Get().(*[]byte); ok {
		return *held
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
