# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Servers with certificates."""

from __future__ import annotations

import datetime
import http.server
import ipaddress
import ssl
import threading
import types

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def issue(name, issuer=None, *, is_authority=False):
    """(certificate, key) for a DNS name or an address; an authority if it has no issuer or ``is_authority``.

    Without key identifiers, as many private authorities issue them: RFC 5280 demands some.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    signer, signing_key = issuer or (None, key)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([_general_name(name)]), critical=False)
        .add_extension(x509.BasicConstraints(is_authority or not issuer, None), critical=True)
        .sign(signing_key, hashes.SHA256())
    )
    return certificate, key


def _general_name(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def pem(certificate, key=None):
    text = certificate.public_bytes(serialization.Encoding.PEM)
    if key:
        text += key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    return text


@pytest.fixture
def no_surroundings(monkeypatch):
    """Without the proxies, kubeconfigs and settings of this machine."""
    proxies = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    clusters = ("K8S_AUTH_KUBECONFIG", "K8S_AUTH_CONTEXT", "KUBECONFIG", "KUBERNETES_SERVICE_HOST")
    for name in (
        *proxies,
        *clusters,
        "NIMOPS_REGISTRIES",
        "NIMOPS_TEST_REGISTRIES",
        "NIMOPS_REGISTRY_MIRRORS",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def tls():
    """An authority, and how to issue and write certificates."""
    return types.SimpleNamespace(authority=issue("authority"), issue=issue, pem=pem)


@pytest.fixture
def serve_https(tmp_path, tls):
    """Serve HTTPS with a certificate for a name; returns its port and the requests' headers.

    ``respond``: status and headers of the answer to a path.
    """
    servers = []

    def start(
        name,
        issuer=tls.authority,
        newest=ssl.TLSVersion.MAXIMUM_SUPPORTED,
        respond=lambda path: (200, {}),
    ):
        file = tmp_path / f"{name}.pem"
        file.write_bytes(tls.pem(*tls.issue(name, issuer)))
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(dict(self.headers))
                status, headers = respond(self.path)
                self.send_response(status)
                self.send_header("Content-Length", "2")
                for key, value in headers.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = newest
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(file)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *args: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server.server_address[1], seen

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


NEMO_DATABASE = {
    "host": "pg.ns.svc",
    "databaseName": "db",
    "credentials": {"user": "me", "secretName": "pg"},
}
NEMO_SECRETS = ("giteaAdmin", "lfsJwt", "datastoreInit", "datastoreConfig", "datastoreInlineConfig")
NEMO_SPECS = {
    "NemoDatastore": {
        "databaseConfig": NEMO_DATABASE,
        "secrets": {f"{name}Secret": name.lower() for name in NEMO_SECRETS},
    },
    "NemoEntitystore": {
        "databaseConfig": NEMO_DATABASE,
        "datastore": {"endpoint": "http://datastore:8000"},
    },
    "NemoEvaluator": {
        "argoWorkflows": {"endpoint": "https://argo:2746", "serviceAccount": "executor"},
        "databaseConfig": NEMO_DATABASE,
        "datastore": {"endpoint": "http://datastore:8000"},
        "entitystore": {"endpoint": "http://entitystore:8000"},
        "evaluationImages": {},
        "vectorDB": {"endpoint": "http://milvus:19530"},
    },
    "NemoGuardrail": {"configStore": {"configMap": {"name": "rails"}}},
}
"""The least that each kind accepts, beside the image."""


class Nemo:
    """NeMo services named `x` in the namespace `ns`, with their dependencies."""

    kinds = tuple(NEMO_SPECS)
    database = NEMO_DATABASE

    @staticmethod
    def cr(kind, spec=None, status=None, **metadata):
        """A custom resource; a spec field of None is left out."""
        image = {"repository": "registry.example/nemo", "tag": "25.10"}
        merged = {"image": image, **NEMO_SPECS[kind], **(spec or {})}
        known = {"name": "x", "namespace": "ns", "uid": "u-x", "generation": 2}
        found = {
            "apiVersion": "apps.nvidia.com/v1alpha1",
            "kind": kind,
            "metadata": known | metadata,
            "spec": {key: value for key, value in merged.items() if value is not None},
        }
        return found if status is None else found | {"status": status}

    @staticmethod
    def observe(*objects, **answers):
        """Observed answers: these objects, and answers by key."""
        from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
        from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

        return Observed({key_of(item): item for item in objects} | answers)

    @classmethod
    def app(cls, kind, spec=None, observed=None, status=None):
        """The context of a pass."""
        from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

        cr = cls.cr(kind, spec, status)
        return kind_of(cr).app(cr, observed or cls.observe())

    @classmethod
    def made(cls, kind, spec=None, observed=None, status=None):
        """The desired objects, by kind."""
        from ansible_collections.nimops.nim.plugins.module_utils._nemo.children import desired

        found = desired(cls.app(kind, spec, observed, status))
        return {child.manifest["kind"]: child.manifest for child in found.children}

    @classmethod
    def pod(cls, kind, spec=None, **more):
        """The spec of the pods."""
        return cls.made(kind, spec, **more)["Deployment"]["spec"]["template"]["spec"]

    @classmethod
    def container(cls, kind, spec=None):
        """The main container."""
        (found,) = cls.pod(kind, spec)["containers"]
        return found

    @staticmethod
    def rows(env):
        """Variables in short: name=value, name<Secret/key, name^field."""

        def source(item):
            if found := item.get("valueFrom"):
                if secret := found.get("secretKeyRef"):
                    return f"<{secret['name']}/{secret['key']}"
                return f"^{found['fieldRef']['fieldPath']}"
            return f"={item['value']}" if "value" in item else ""

        return [f"{item['name']}{source(item)}" for item in env]

    @staticmethod
    def secret(name, data, version="1", **metadata):
        """A live Secret."""
        import base64

        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "ns", "resourceVersion": version, **metadata},
            "data": {
                key: base64.b64encode(
                    value if isinstance(value, bytes) else value.encode()
                ).decode()
                for key, value in data.items()
            },
        }

    @staticmethod
    def rolled_out(deployment, **status):
        """A Deployment whose pods are ready."""
        metadata = deployment["metadata"] | {"generation": 3, "uid": "u-d"}
        replicas = deployment["spec"].get("replicas", 1)
        counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), replicas)
        return deployment | {
            "metadata": {key: value for key, value in metadata.items() if key != "resourceVersion"},
            "spec": {"replicas": 1} | deployment["spec"],
            "status": {"observedGeneration": 3} | counts | status,
        }


@pytest.fixture(scope="session")
def nemo():
    """NeMo services to vary."""
    return Nemo


def without(value, paths, at=""):
    """The value without the fields of these paths."""
    if isinstance(value, list):
        return [without(item, paths, f"{at}[]") for item in value]
    if not isinstance(value, dict):
        return value
    places = {key: f"{at}.{key}" if at else key for key in value}
    return {key: without(value[key], paths, at) for key, at in places.items() if at not in paths}


def leaves(value, at=""):
    """The paths of all leaves; items of a list share theirs."""
    if isinstance(value, dict) and value:
        return set().union(
            *(leaves(below, f"{at}.{key}" if at else key) for key, below in value.items())
        )
    if isinstance(value, list) and value:
        return set().union(*(leaves(item, f"{at}[]") for item in value))
    return {at}


@pytest.fixture(scope="session")
def paths():
    """The differences of two objects, by paths such as `spec.ports[].name`."""
    return types.SimpleNamespace(leaves=leaves, without=without)
