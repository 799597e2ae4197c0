// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command local-path makes a directory of this machine for each claim of its storage classes, and removes it with the
// volume.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const name = "sandbox.nimops/local-path"

// provisioner makes volumes below one directory of one node.
type provisioner struct {
	directory string
	node      string
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of an administrator")
	directory := flag.String("directory", "", "that contains the volumes")
	node := flag.String("node", "", "that has the directory")
	flag.Parse()
	if *directory == "" || *node == "" {
		fmt.Fprintln(os.Stderr, "local-path: -directory and -node are required")
		os.Exit(2)
	}
	if err := run(*kubeconfig, provisioner{*directory, *node}); err != nil {
		fmt.Fprintln(os.Stderr, "local-path:", err)
		os.Exit(1)
	}
}

func run(kubeconfig string, volumes provisioner) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	controller.NewProvisionController(ctx, client, name, volumes, controller.LeaderElection(false)).Run(ctx)
	return nil
}

// Provision makes a directory that any user may write, as not every pod has an fsGroup.
func (p provisioner) Provision(
	_ context.Context, options controller.ProvisionOptions,
) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	if node := options.SelectedNodeName; node != "" && node != p.node {
		return nil, controller.ProvisioningReschedule, fmt.Errorf("node %s has no local paths, only %s has", node, p.node)
	}
	path := p.path(options.PVName)
	if err := makeDirectory(path); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	claim := options.PVC.Spec
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   claim.AccessModes,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: claim.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}},
			NodeAffinity:                  &v1.VolumeNodeAffinity{Required: only(p.node)},
		},
	}
	return volume, controller.ProvisioningFinished, nil
}

// Delete removes the directory with all that it contains.
func (p provisioner) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Spec.Local == nil || volume.Spec.Local.Path != p.path(volume.Name) {
		return errors.New("the volume's path is not the one that was made for it")
	}
	return os.RemoveAll(p.path(volume.Name))
}

func (p provisioner) path(volume string) string {
	return filepath.Join(p.directory, volume)
}

func makeDirectory(path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	return os.Chmod(path, 0o777) // whatever the umask
}

func only(node string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}},
		},
	}}}
}
