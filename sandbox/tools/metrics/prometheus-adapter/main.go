// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command prometheus-adapter serves custom.metrics.k8s.io with the configuration, rules and queries of prometheus-adapter.
// Only the start is not that project's: its own needs older Kubernetes libraries than those that the sandbox builds.
package main

import (
	"context"
	"flag"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/klog/v2"
	basecmd "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
	"sigs.k8s.io/prometheus-adapter/pkg/client"
	"sigs.k8s.io/prometheus-adapter/pkg/config"
	custom "sigs.k8s.io/prometheus-adapter/pkg/custom-provider"
	"sigs.k8s.io/prometheus-adapter/pkg/naming"
)

// options are the flags that prometheus-adapter has for metrics of Prometheus, with the same names.
type options struct {
	server, file string
	relist, age  time.Duration
}

// undated asks Prometheus without the deadline of a request. The project passes the time since the deadline as a timeout,
// which is negative, and which the library that it pins writes as an empty text, but this one does not.
type undated struct{ client.Client }

// Query returns the result of a query.
func (u undated) Query(ctx context.Context, at model.Time, query client.Selector) (client.QueryResult, error) {
	return u.Client.Query(context.WithoutCancel(ctx), at, query)
}

// run serves until the process is terminated.
func run() error {
	command, given := &basecmd.AdapterBase{Name: "prometheus-adapter"}, options{}
	flags := command.Flags()
	flags.StringVar(&given.server, "prometheus-url", "", "the Prometheus server to query")
	flags.StringVar(&given.file, "config", "", "the file with the rules")
	flags.DurationVar(&given.relist, "metrics-relist-interval", 10*time.Minute, "time between two lists of all series")
	flags.DurationVar(&given.age, "metrics-max-age", 10*time.Minute, "how old the samples of a listed series can be")
	klog.InitFlags(nil)
	flags.AddGoFlagSet(flag.CommandLine)
	if err := flags.Parse(os.Args); err != nil {
		return err
	}
	if err := serve(command, given); err != nil {
		return err
	}
	return command.Run(context.Background())
}

// serve adds the metrics of the rules to the command.
func serve(command *basecmd.AdapterBase, given options) error {
	server, err := url.Parse(given.server)
	if err != nil {
		return err
	}
	settings, err := config.FromFile(given.file)
	if err != nil {
		return err
	}
	mapper, err := command.RESTMapper()
	if err != nil {
		return err
	}
	kubernetes, err := command.DynamicClient()
	if err != nil {
		return err
	}
	namers, err := naming.NamersFromConfig(settings.Rules, mapper)
	if err != nil {
		return err
	}
	prometheus := undated{client.NewClient(&http.Client{Timeout: 5 * time.Second}, server, nil, http.MethodGet)}
	metrics, lists := custom.NewPrometheusProvider(mapper, kubernetes, prometheus, namers, given.relist, given.age)
	lists.RunUntil(nil)
	command.WithCustomMetrics(metrics)
	return nil
}

func main() {
	if err := run(); err != nil {
		klog.ErrorS(err, "Cannot serve")
		os.Exit(1)
	}
}
