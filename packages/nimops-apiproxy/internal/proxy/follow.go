// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"nimops.nim/apiproxy/internal/rawjson"
)

const (
	firstBackOff   = time.Second
	longestBackOff = time.Minute
	// forbiddenDelay is the time until a forbidden watch is tried again, as the permission may be granted later.
	forbiddenDelay = 10 * time.Minute

	// caughtUp is the minimum wait for an event that was not in the buffer already.
	caughtUp = 3 * time.Millisecond

	wholeObjects = "application/json"
	// metadataOnly and metadataOfListOnly make the API server leave out spec and status.
	metadataOnly       = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataOfListOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// follower lists and then watches a collection on the proxy's own behalf.
type follower struct {
	upstream *Upstream
	path     string
	query    url.Values
	// isMetadataOnly requests metadata without spec and status.
	isMetadataOnly bool
	// rest is how long events may wait, so that those of a busy collection are read together: waking up for
	// an event costs more than reading it.
	rest time.Duration
	// onObject receives each object of an event or a list; isGone if it was deleted. The text is only valid
	// during the call.
	onObject func(of meta, object []byte, isGone bool)
	// onList receives the namespaces and names of a list: all other objects are gone.
	onList func(listed map[string]bool)
	// onDenied is called once if the collection must not be watched.
	onDenied func()

	isDenied bool
}

func (f *follower) run(ctx context.Context) {
	backOff := firstBackOff
	for ctx.Err() == nil {
		started := time.Now()
		err := f.listAndWatch(ctx)
		if time.Since(started) > longestBackOff {
			backOff = firstBackOff
		}
		wait := backOff + rand.N(backOff)
		backOff = min(2*backOff, longestBackOff)
		var status statusError
		if errors.As(err, &status) && status == http.StatusForbidden {
			wait = forbiddenDelay
			if !f.isDenied {
				f.isDenied = true
				f.onDenied()
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// listAndWatch lists once, then watches until a new list is needed.
func (f *follower) listAndWatch(ctx context.Context) error {
	version, err := f.list(ctx)
	for err == nil && ctx.Err() == nil {
		started := time.Now()
		version, err = f.watch(ctx, version)
		if err == nil && time.Since(started) < firstBackOff {
			err = errors.New("the watch ended at once")
		}
	}
	return err
}

// ask requests the collection with additional parameters.
func (f *follower) ask(
	ctx context.Context, open func(context.Context, string, string, string) (io.ReadCloser, error), outline string, more url.Values,
) (io.ReadCloser, error) {
	query := maps.Clone(f.query)
	if query == nil {
		query = url.Values{}
	}
	maps.Copy(query, more)
	accept := wholeObjects
	if f.isMetadataOnly {
		accept = outline
	}
	return open(ctx, f.path, query.Encode(), accept)
}

func (f *follower) list(ctx context.Context) (string, error) {
	body, err := f.ask(ctx, f.upstream.open, metadataOfListOnly, url.Values{"resourceVersion": {"0"}})
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	listed := map[string]bool{}
	metadata, whole, err := rawjson.EditList(io.Discard, body, rawjson.ListEditor{
		Item: func(item []byte) []byte {
			if of := readMeta(item); of.name != "" {
				listed[of.namespace+"/"+of.name] = true
				f.onObject(of, item, false)
			}
			return nil
		},
	})
	if err != nil || !whole {
		return "", errors.Join(err, errors.New("no list"))
	}
	f.onList(listed)
	return rawjson.Text(rawjson.Find(metadata, "resourceVersion")), nil
}

// watch returns the version to resume from when the API server ends the watch, or an error if a new list is needed.
func (f *follower) watch(ctx context.Context, version string) (string, error) {
	body, err := f.ask(ctx, f.upstream.follow, metadataOnly, url.Values{
		"resourceVersion":     {version},
		"watch":               {"true"},
		"allowWatchBookmarks": {"true"},
		"timeoutSeconds":      {fmt.Sprint(300 + rand.IntN(300))},
	})
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	in := bufio.NewReaderSize(body, 32<<10)
	var line []byte
	var rested time.Time
	for {
		asked := time.Now()
		line, err = readLine(in, line[:0])
		if errors.Is(err, io.EOF) {
			return version, nil
		}
		if err != nil {
			return "", err
		}
		found, ok := readEvent(line)
		if !ok {
			continue
		}
		if found.kind == "ERROR" {
			return "", errors.New("the watch cannot continue") // Usually because its version is too old.
		}
		if found.meta.resourceVersion != "" {
			version = found.meta.resourceVersion
		}
		if found.kind != "BOOKMARK" {
			f.onObject(found.meta, found.object, found.kind == "DELETED")
		}
		// On a busy machine every event may seem to have been waited for, so read at least as long as it rested.
		if f.rest > 0 && time.Since(asked) > caughtUp && time.Since(rested) > f.rest {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(f.rest):
				rested = time.Now()
			}
		}
	}
}
