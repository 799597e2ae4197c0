// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

// Command pki writes the keys and certificates of one sandbox into a directory: ca.crt, server.{crt,key}, which
// the API server, kwok and a kubelet serve with, client.{crt,key}, by which the API server shows a kubelet who it is,
// and sa.{key,pub}, which sign and check service account tokens. The CA's key is not kept.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Loopback, and the first address of the sandbox's service range: the Service "kubernetes".
var addresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 96, 0, 1)}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pki DIRECTORY [ADDRESS...]")
		os.Exit(2)
	}
	for _, text := range os.Args[2:] {
		address := net.ParseIP(text)
		if address == nil {
			fmt.Fprintln(os.Stderr, "pki: not an IP address:", text)
			os.Exit(2)
		}
		addresses = append(addresses, address)
	}
	if err := writeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pki:", err)
		os.Exit(1)
	}
}

func writeAll(dir string) error {
	caKey, err := newKey()
	if err != nil {
		return err
	}
	ca := template("nimops-sandbox-ca")
	ca.IsCA = true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	// Signed first and read back: a strict client looks for the issuer by key id, which signing adds.
	if ca, err = writeCertificate(dir, "ca.crt", ca, ca, caKey.Public(), caKey); err != nil {
		return err
	}
	serverKey, err := writeKey(dir, "server.key")
	if err != nil {
		return err
	}
	server := template("nimops-sandbox")
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = addresses
	server.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	if _, err = writeCertificate(dir, "server.crt", server, ca, serverKey.Public(), caKey); err != nil {
		return err
	}
	clientKey, err := writeKey(dir, "client.key")
	if err != nil {
		return err
	}
	client := template("kube-apiserver")
	client.KeyUsage = x509.KeyUsageDigitalSignature
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err = writeCertificate(dir, "client.crt", client, ca, clientKey.Public(), caKey); err != nil {
		return err
	}
	saKey, err := writeKey(dir, "sa.key")
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(saKey.Public())
	if err != nil {
		return err
	}
	return writePEM(dir, "sa.pub", "PUBLIC KEY", der)
}

func template(name string) *x509.Certificate {
	// An hour of slack for clocks that were put right meanwhile.
	now := time.Now().Add(-time.Hour)
	return &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now,
		NotAfter:              now.AddDate(10, 0, 0),
		BasicConstraintsValid: true,
	}
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func writeKey(dir, name string) (*ecdsa.PrivateKey, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(dir, name, "EC PRIVATE KEY", der)
}

func writeCertificate(
	dir, name string, cert, issuer *x509.Certificate, public crypto.PublicKey, signer crypto.Signer,
) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, cert, issuer, public, signer)
	if err != nil {
		return nil, err
	}
	if err := writePEM(dir, name, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func writePEM(dir, name, kind string, der []byte) error {
	data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return os.WriteFile(filepath.Join(dir, name), data, 0o600)
}
