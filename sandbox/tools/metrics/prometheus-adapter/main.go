// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command custom-metrics-adapter answers custom.metrics.k8s.io from a Prometheus server, as prometheus-adapter does with its
// default rules: the metric "m" of pods is the sum of the series "m" by the label "pod", in the namespace of the label
// "namespace". For other resources, the label is the resource's singular name, such as "service".
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/metrics/pkg/apis/custom_metrics"
	basecmd "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider/helpers"
)

// A metric name is part of a query.
var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// Adapter answers with instant queries to the server at the URL prometheus.
type Adapter struct {
	prometheus string
	client     dynamic.Interface
	mapper     apimeta.RESTMapper
}

// Sample is a time series and its value: seconds since the epoch, and a number as text.
type Sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

// GetMetricByName returns the metric of one object.
func (a *Adapter) GetMetricByName(
	ctx context.Context, name types.NamespacedName, info provider.CustomMetricInfo, selector labels.Selector,
) (*custom_metrics.MetricValue, error) {
	found, err := a.read(ctx, name.Namespace, []string{name.Name}, info, selector)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, provider.NewMetricNotFoundForError(info.GroupResource, info.Metric, name.Name)
	}
	return &found[0], nil
}

// GetMetricBySelector returns the metric of the objects that have it.
func (a *Adapter) GetMetricBySelector(
	ctx context.Context, namespace string, selector labels.Selector, info provider.CustomMetricInfo, ofMetric labels.Selector,
) (*custom_metrics.MetricValueList, error) {
	names, err := helpers.ListObjectNames(a.mapper, a.client, namespace, selector, info)
	if err != nil || len(names) == 0 {
		return &custom_metrics.MetricValueList{}, err
	}
	found, err := a.read(ctx, namespace, names, info, ofMetric)
	return &custom_metrics.MetricValueList{Items: found}, err
}

// ListAllMetrics returns the metrics of pods that the server has now, for discovery; those of other resources are served as well.
func (a *Adapter) ListAllMetrics() []provider.CustomMetricInfo {
	var names []string
	if err := a.ask(context.Background(), "label/__name__/values", url.Values{"match[]": {`{namespace!="",pod!=""}`}}, &names); err != nil {
		klog.ErrorS(err, "Listing metrics")
	}
	found := make([]provider.CustomMetricInfo, len(names))
	for index, name := range names {
		pods := schema.GroupResource{Resource: "pods"}
		found[index] = provider.CustomMetricInfo{GroupResource: pods, Namespaced: true, Metric: name}
	}
	return found
}

func (a *Adapter) read(
	ctx context.Context, namespace string, names []string, info provider.CustomMetricInfo, selector labels.Selector,
) ([]custom_metrics.MetricValue, error) {
	info, label, err := info.Normalized(a.mapper)
	if err != nil {
		return nil, err
	}
	query, err := writeQuery(info.Metric, namespace, label, names, selector)
	if err != nil {
		return nil, err
	}
	var samples struct {
		Result []Sample `json:"result"`
	}
	if err := a.ask(ctx, "query", url.Values{"query": {query}}, &samples); err != nil {
		return nil, err
	}
	found := make([]custom_metrics.MetricValue, len(samples.Result))
	for index, sample := range samples.Result {
		name := types.NamespacedName{Namespace: namespace, Name: sample.Metric[label]}
		described, err := helpers.ReferenceFor(a.mapper, name, info)
		if err != nil {
			return nil, err
		}
		value, err := strconv.ParseFloat(fmt.Sprint(sample.Value[1]), 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("%s: not a number: %v", query, sample.Value[1])
		}
		found[index] = custom_metrics.MetricValue{
			DescribedObject: described,
			Metric:          custom_metrics.MetricIdentifier{Name: info.Metric},
			Timestamp:       metav1.Now(),
			Value:           *resource.NewMilliQuantity(int64(math.Round(value*1000)), resource.DecimalSI),
		}
	}
	return found, nil
}

// ask decodes the data of an answer of Prometheus' HTTP API into result.
func (a *Adapter) ask(ctx context.Context, path string, query url.Values, result any) error {
	target := fmt.Sprintf("%s/api/v1/%s?%s", a.prometheus, path, query.Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content := struct {
		Error string `json:"error"`
		Data  any    `json:"data"`
	}{Data: result}
	if err := json.NewDecoder(answer.Body).Decode(&content); err != nil {
		return fmt.Errorf("%s: %w", answer.Status, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, content.Error)
	}
	return nil
}

// writeQuery returns the query for the metric of these objects, whose names are values of the label.
func writeQuery(metric, namespace, label string, names []string, selector labels.Selector) (string, error) {
	if !metricName.MatchString(metric) {
		return "", fmt.Errorf("%q is not a name of a metric", metric)
	}
	// A dot of a name matches itself as well.
	matchers := []string{fmt.Sprintf("namespace=%q", namespace), fmt.Sprintf("%s=~%q", label, strings.Join(names, "|"))}
	requirements, _ := selector.Requirements()
	for _, it := range requirements {
		value, ok := selector.RequiresExactMatch(it.Key())
		if !ok {
			return "", fmt.Errorf("the selector %s is not supported", it.String())
		}
		matchers = append(matchers, fmt.Sprintf("%s=%q", it.Key(), value))
	}
	return fmt.Sprintf("sum(%s{%s}) by (%s)", metric, strings.Join(matchers, ","), label), nil
}

func run() error {
	command := &basecmd.AdapterBase{Name: "custom-metrics-adapter"}
	adapter := &Adapter{}
	command.Flags().StringVar(&adapter.prometheus, "prometheus-url", "", "the Prometheus server to query")
	klog.InitFlags(nil)
	command.Flags().AddGoFlagSet(flag.CommandLine)
	err := command.Flags().Parse(os.Args)
	if err == nil {
		adapter.client, err = command.DynamicClient()
	}
	if err == nil {
		adapter.mapper, err = command.RESTMapper()
	}
	if err != nil {
		return err
	}
	command.WithCustomMetrics(adapter)
	return command.Run(context.Background())
}

func main() {
	if err := run(); err != nil {
		klog.ErrorS(err, "Cannot serve")
		os.Exit(1)
	}
}
