// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// entry is the name of all entries of the kubeconfig.
const entry = "nimops-apiproxy"

// Access has the data that a client of the proxy needs.
type Access struct {
	Server, Token, Namespace string
	// Authority is the certificate to trust, as PEM.
	Authority []byte
}

// WriteKubeconfig writes a kubeconfig for clients of the proxy, atomically and readable only by its owner.
func WriteKubeconfig(path string, access Access) error {
	text, err := clientcmd.Write(api.Config{
		Clusters:       map[string]*api.Cluster{entry: {Server: access.Server, CertificateAuthorityData: access.Authority}},
		AuthInfos:      map[string]*api.AuthInfo{entry: {Token: access.Token}},
		Contexts:       map[string]*api.Context{entry: {Cluster: entry, AuthInfo: entry, Namespace: access.Namespace}},
		CurrentContext: entry,
	})
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}
