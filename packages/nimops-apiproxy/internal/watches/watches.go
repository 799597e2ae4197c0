// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Package watches reads the runtime's watches.yaml. The kinds in it are called primary.
package watches

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

type watch struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Finalizer struct {
		Name string `json:"name"`
	} `json:"finalizer"`
	ReconcilePeriod string `json:"reconcilePeriod"`
}

// defaultPeriod is the runtime's default of reconcilePeriod.
const defaultPeriod = 10 * time.Hour

// Primaries are the kinds of a watches.yaml.
type Primaries struct {
	groups map[string]bool
	// kinds is keyed by API version and kind.
	kinds map[string]kind
}

type kind struct {
	// finalizer is the finalizer that the runtime adds, if any.
	finalizer string
	routine   Routine
}

// Routine describes how the runtime reconciles the objects of a kind.
type Routine struct {
	// Controller is the name of the kind's controller in the runtime.
	Controller string
	// Period is the time between two reconciles of an unchanged object.
	Period time.Duration
}

// Load reads a watches.yaml.
func Load(path string) (*Primaries, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	primaries, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return primaries, nil
}

func parse(text []byte) (*Primaries, error) {
	var found []watch
	if err := yaml.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("no kinds to watch")
	}
	primaries := &Primaries{groups: map[string]bool{}, kinds: map[string]kind{}}
	for _, item := range found {
		if item.Version == "" || item.Kind == "" {
			return nil, errors.New("a watch without version or kind")
		}
		version := item.Version
		if item.Group != "" {
			version = item.Group + "/" + version
		}
		primaries.groups[item.Group] = true
		period := defaultPeriod
		if item.ReconcilePeriod != "" {
			var err error
			if period, err = time.ParseDuration(item.ReconcilePeriod); err != nil {
				return nil, fmt.Errorf("reconcilePeriod of %s: %w", item.Kind, err)
			}
		}
		primaries.kinds[version+" "+item.Kind] = kind{item.Finalizer.Name, Routine{
			Controller: strings.ToLower(item.Kind + "-" + item.Version + "-controller"),
			Period:     period,
		}}
	}
	return primaries, nil
}

// HasGroup reports whether an API group has a primary kind. The proxy filters by group rather than by kind,
// because finding the resource of a kind takes discovery, which fails while a CRD is missing.
func (p *Primaries) HasGroup(group string) bool {
	return p.groups[group]
}

// Controllers returns the kind of each controller in the runtime.
func (p *Primaries) Controllers() map[string]string {
	found := map[string]string{}
	for name, of := range p.kinds {
		_, kind, _ := strings.Cut(name, " ")
		found[of.routine.Controller] = kind
	}
	return found
}

// Has reports whether a kind is primary.
func (p *Primaries) Has(apiVersion, kind string) bool {
	_, is := p.kinds[apiVersion+" "+kind]
	return is
}

type primary struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Generation        int64    `json:"generation"`
		DeletionTimestamp *string  `json:"deletionTimestamp"`
		Finalizers        []string `json:"finalizers"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration int64                           `json:"observedGeneration"`
		State              string                          `json:"state"`
		Conditions         []struct{ Type, Status string } `json:"conditions"`
	} `json:"status"`
}

// AtRest reports whether an object of a primary kind needs only routine reconciles: its current generation was
// observed and it is ready. It also returns the routine.
func (p *Primaries) AtRest(object []byte) (Routine, bool) {
	var found primary
	if json.Unmarshal(object, &found) != nil {
		return Routine{}, false
	}
	of, known := p.kinds[found.APIVersion+" "+found.Kind]
	if !known || found.Metadata.DeletionTimestamp != nil {
		return Routine{}, false
	}
	if of.finalizer != "" && !slices.Contains(found.Metadata.Finalizers, of.finalizer) {
		return Routine{}, false
	}
	if found.Metadata.Generation == 0 || found.Metadata.Generation != found.Status.ObservedGeneration {
		return Routine{}, false
	}
	return of.routine, found.isReady()
}

func (p *primary) isReady() bool {
	if p.Status.State == "Ready" {
		return true
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return true
		}
	}
	return false
}
