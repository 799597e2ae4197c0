// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/labels"
	corev1listers "k8s.io/client-go/listers/core/v1"
	networkingv1alpha1 "knative.dev/networking/pkg/apis/networking/v1alpha1"
	ingressinformer "knative.dev/networking/pkg/client/injection/informers/networking/v1alpha1/ingress"
	ingressreconciler "knative.dev/networking/pkg/client/injection/reconciler/networking/v1alpha1/ingress"
	filteredpodinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/pod/filtered"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/network"
	"knative.dev/pkg/reconciler"
	"knative.dev/pkg/system"
	autoscalingv1alpha1 "knative.dev/serving/pkg/apis/autoscaling/v1alpha1"
	"knative.dev/serving/pkg/apis/serving"
	asmetrics "knative.dev/serving/pkg/autoscaler/metrics"
	"knative.dev/serving/pkg/autoscaler/scaling"
	"knative.dev/serving/pkg/reconciler/autoscaling/kpa"
	servingmetric "knative.dev/serving/pkg/reconciler/metric"
	"knative.dev/serving/pkg/resources"
)

const (
	// The class of ingresses in the sandbox's ConfigMap config-network.
	ingressClass = "sandbox.ingress.networking.knative.dev"
	// The number of requests that a simulated pod handles.
	requestsAnnotation = "sandbox.nimops/waiting"
)

// newAutoscaler returns Knative's autoscaler, unchanged except for the source of its metrics: the annotations of
// pods instead of their queue proxies.
func newAutoscaler(ctx context.Context, settings configmap.Watcher) []*controller.Impl {
	logger := logging.FromContext(ctx)
	pods := filteredpodinformer.Get(ctx, serving.RevisionUID).Lister()
	collector := asmetrics.NewMetricCollector(
		func(metric *autoscalingv1alpha1.Metric, _ *zap.SugaredLogger) (asmetrics.StatsScraper, error) {
			return &scraper{pods.Pods(metric.Namespace), metric.Labels[serving.RevisionLabelKey]}, nil
		}, logger)
	scaler := scaling.NewMultiScaler(ctx.Done(), func(it *scaling.Decider) (scaling.UniScaler, error) {
		found := resources.NewPodAccessor(pods, it.Namespace, it.Labels[serving.RevisionLabelKey])
		return scaling.New(
			*attribute.EmptySet(), otel.GetMeterProvider(), it.Namespace, it.Name, collector, found, &it.Spec), nil
	}, logger)
	return []*controller.Impl{
		kpa.NewController(ctx, settings, scaler),
		servingmetric.NewController(ctx, settings, collector),
	}
}

type scraper struct {
	pods     corev1listers.PodNamespaceLister
	revision string
}

// Scrape returns the requests of a revision.
func (s *scraper) Scrape(time.Duration) (asmetrics.Stat, error) {
	found, err := s.pods.List(labels.SelectorFromSet(labels.Set{serving.RevisionLabelKey: s.revision}))
	if err != nil {
		return asmetrics.Stat{}, err
	}
	stat := asmetrics.Stat{PodName: s.revision, Timestamp: time.Now().Unix()}
	for _, pod := range found {
		requests, _ := strconv.ParseFloat(pod.Annotations[requestsAnnotation], 64)
		stat.AverageConcurrentRequests += requests
	}
	return stat, nil
}

// newIngress returns the controller of a simulated gateway.
func newIngress(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	impl := ingressreconciler.NewImpl(ctx, &gateway{}, ingressClass)
	ingressinformer.Get(ctx).Informer().AddEventHandler(controller.HandleAll(impl.Enqueue))
	return impl
}

type gateway struct{}

// ReconcileKind reports an ingress as ready at the Service of the gateway.
func (*gateway) ReconcileKind(_ context.Context, it *networkingv1alpha1.Ingress) reconciler.Event {
	host := network.GetServiceHostname("gateway", system.Namespace())
	balancers := []networkingv1alpha1.LoadBalancerIngressStatus{{DomainInternal: host}}
	it.Status.MarkNetworkConfigured()
	it.Status.MarkLoadBalancerReady(balancers, balancers)
	return nil
}
