// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	networkingv1alpha1 "knative.dev/networking/pkg/apis/networking/v1alpha1"
	networkconfig "knative.dev/networking/pkg/config"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection/clients/namespacedkube/informers/core/v1/secret"
	"knative.dev/pkg/leaderelection"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/system"
	"knative.dev/pkg/webhook"
	"knative.dev/pkg/webhook/certificates/resources"
	"knative.dev/pkg/webhook/configmaps"
	"knative.dev/pkg/webhook/resourcesemantics"
	"knative.dev/pkg/webhook/resourcesemantics/defaulting"
	"knative.dev/pkg/webhook/resourcesemantics/validation"
	autoscalingv1alpha1 "knative.dev/serving/pkg/apis/autoscaling/v1alpha1"
	apisconfig "knative.dev/serving/pkg/apis/config"
	servingv1 "knative.dev/serving/pkg/apis/serving/v1"
	autoscalerconfig "knative.dev/serving/pkg/autoscaler/config"
	"knative.dev/serving/pkg/deployment"
	gcconfig "knative.dev/serving/pkg/gc"
	routeconfig "knative.dev/serving/pkg/reconciler/route/config"
	extra "knative.dev/serving/pkg/webhook"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Names in Knative's manifests, which neighbors/knative.py registers.
const (
	webhookService = "webhook"
	webhookSecret  = "webhook-certs"
)

var kinds = map[schema.GroupVersionKind]resourcesemantics.GenericCRD{
	servingv1.SchemeGroupVersion.WithKind("Configuration"):              &servingv1.Configuration{},
	servingv1.SchemeGroupVersion.WithKind("Revision"):                   &servingv1.Revision{},
	servingv1.SchemeGroupVersion.WithKind("Route"):                      &servingv1.Route{},
	servingv1.SchemeGroupVersion.WithKind("Service"):                    &servingv1.Service{},
	autoscalingv1alpha1.SchemeGroupVersion.WithKind("Metric"):           &autoscalingv1alpha1.Metric{},
	autoscalingv1alpha1.SchemeGroupVersion.WithKind("PodAutoscaler"):    &autoscalingv1alpha1.PodAutoscaler{},
	networkingv1alpha1.SchemeGroupVersion.WithKind("Ingress"):           &networkingv1alpha1.Ingress{},
	networkingv1alpha1.SchemeGroupVersion.WithKind("ServerlessService"): &networkingv1alpha1.ServerlessService{},
}

func newDefaulting(ctx context.Context, settings configmap.Watcher) *controller.Impl {
	const name = "webhook.serving.knative.dev"
	return defaulting.NewAdmissionController(ctx, name, "/defaulting", kinds, withSettings(ctx, settings), false)
}

func newValidation(ctx context.Context, settings configmap.Watcher) *controller.Impl {
	const name = "validation.webhook.serving.knative.dev"
	callbacks := map[schema.GroupVersionKind]validation.Callback{
		servingv1.SchemeGroupVersion.WithKind("Configuration"): validation.NewCallback(
			extra.ValidateConfiguration, webhook.Create, webhook.Update),
		servingv1.SchemeGroupVersion.WithKind("Service"): validation.NewCallback(
			extra.ValidateService, webhook.Create, webhook.Update),
	}
	return validation.NewAdmissionController(
		ctx, name, "/resource-validation", kinds, withSettings(ctx, settings), false, callbacks)
}

// withSettings returns a function that adds Knative's settings, such as features, to a context.
func withSettings(ctx context.Context, settings configmap.Watcher) func(context.Context) context.Context {
	store := apisconfig.NewStore(logging.FromContext(ctx).Named("settings"))
	store.WatchConfigs(settings)
	return store.ToContext
}

func newConfigValidation(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	const name = "config.webhook.serving.knative.dev"
	return configmaps.NewAdmissionController(ctx, name, "/config-validation", configmap.Constructors{
		apisconfig.DefaultsConfigName:  apisconfig.NewDefaultsConfigFromConfigMap,
		apisconfig.FeaturesConfigName:  apisconfig.NewFeaturesConfigFromConfigMap,
		autoscalerconfig.ConfigName:    autoscalerconfig.NewConfigFromConfigMap,
		deployment.ConfigName:          deployment.NewConfigFromConfigMap,
		gcconfig.ConfigName:            gcconfig.NewConfigFromConfigMapFunc(ctx),
		leaderelection.ConfigMapName(): leaderelection.NewConfigFromConfigMap,
		logging.ConfigMapName():        logging.NewConfigFromConfigMap,
		networkconfig.ConfigMapName:    networkconfig.NewConfigFromConfigMap,
		routeconfig.DomainConfigName:   routeconfig.NewDomainFromConfigMap,
	})
}

// serve answers the API server on loopback, with the certificate that Knative's controller creates.
func serve(ctx context.Context, hooks http.Handler, port int) error {
	secrets := secret.Get(ctx).Lister().Secrets(system.Namespace())
	server := &http.Server{
		Addr:              fmt.Sprintf("127.0.0.1:%d", port),
		Handler:           hooks,
		ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS13,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				found, err := secrets.Get(webhookSecret)
				if err != nil {
					return nil, err
				}
				pair, err := tls.X509KeyPair(found.Data[resources.ServerCert], found.Data[resources.ServerKey])
				return &pair, err
			},
		},
	}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
