// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command kserve-controller-manager runs KServe's controller of InferenceServices and its webhooks.
// KServe's own program serves the webhooks on all addresses of the machine, this one on loopback. It omits
// the controllers of other kinds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/kserve/kserve/pkg/apis/serving/v1beta1"
	isvc "github.com/kserve/kserve/pkg/controller/v1beta1/inferenceservice"
	"github.com/kserve/kserve/pkg/scheme"
	"github.com/kserve/kserve/pkg/webhook/admission/pod"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	port := flag.Int("webhook-port", 9443, "The loopback port of the webhooks.")
	certificates := flag.String("webhook-cert-dir", "", "The folder with tls.crt and tls.key.")
	log := zap.Options{}
	log.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&log)))
	if err := run(*port, *certificates); err != nil {
		fmt.Fprintln(os.Stderr, "kserve-controller-manager:", err)
		os.Exit(1)
	}
}

func run(port int, certificates string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	cache, err := isvc.NewCacheOptions()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:         cache,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certificates}),
	})
	if err != nil {
		return err
	}
	if err := scheme.AddAll(manager.GetScheme()); err != nil {
		return err
	}
	if err := addController(manager, clients); err != nil {
		return err
	}
	if err := addWebhooks(manager, clients); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func addController(manager ctrl.Manager, clients *kubernetes.Clientset) error {
	settings, err := v1beta1.GetInferenceServiceConfigMap(context.Background(), clients)
	if err != nil {
		return err
	}
	deploy, err := v1beta1.NewDeployConfig(settings)
	if err != nil {
		return err
	}
	ingress, err := v1beta1.NewIngressConfig(settings)
	if err != nil {
		return err
	}
	events := record.NewBroadcaster()
	events.StartRecordingToSink(&clientcorev1.EventSinkImpl{Interface: clients.CoreV1().Events("")})
	reconciler := &isvc.InferenceServiceReconciler{
		Client:    manager.GetClient(),
		Clientset: clients,
		Log:       ctrl.Log.WithName("InferenceService"),
		Scheme:    manager.GetScheme(),
		Recorder:  events.NewRecorder(manager.GetScheme(), corev1.EventSource{Component: "kserve-controller-manager"}),
	}
	return reconciler.SetupWithManager(manager, deploy, ingress)
}

func addWebhooks(manager ctrl.Manager, clients *kubernetes.Clientset) error {
	decoder := admission.NewDecoder(manager.GetScheme())
	manager.GetWebhookServer().Register("/mutate-pods", &webhook.Admission{
		Handler: &pod.Mutator{Client: manager.GetClient(), Clientset: clients, Decoder: decoder},
	})
	return ctrl.NewWebhookManagedBy(manager).
		For(&v1beta1.InferenceService{}).
		WithDefaulter(&v1beta1.InferenceServiceDefaulter{}).
		WithValidator(&v1beta1.InferenceServiceValidator{}).
		Complete()
}
