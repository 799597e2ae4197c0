#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_databases
author: The nimops.nim authors (@nimops)
short_description: Create the PostgreSQL databases and users that NeMo resources name
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.resources
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Reads C(spec.databaseConfig) of NemoCustomizer, NemoDatastore, NemoEntitystore, NemoEvaluator and NemoGuardrail. For
    each it creates a user that may log in, and a database that this user owns, on one PostgreSQL server.
  - Without O(files), O(definition) and O(definition_variable), it uses the resources in the namespace.
  - A user gets the password in its Secret. If there is no such Secret, it is created with a random password. An existing
    Secret is never changed. If its password changes, the next run sets the new one for the user.
  - Everything is checked before anything is written. In check mode nothing is written.
  - It changes no user that it did not create for the same namespace, no administrator of the server, and no database of
    another owner. It deletes nothing.
notes:
  - As a command, C(ansible-playbook nimops.nim.nemo_dependencies). The variables of the server begin with C(postgresql_),
    such as C(postgresql_login_host) and C(postgresql_adopt).
  - No password is returned or printed. Pass O(login_password) in the environment variable E(PGPASSWORD), which PostgreSQL's
    clients read, because all users of a machine can see the arguments of a command.
  - A user that is not a superuser needs C(CREATEROLE) and C(CREATEDB).
requirements:
  - the collection community.postgresql >= 3.0
  - psycopg >= 3.1.8, or psycopg2 >= 2.5.1, for the Python that runs Ansible unless C(ansible_python_interpreter) is set
options:
  login_host:
    description: The PostgreSQL server, as this machine reaches it. Its name in the resources does not matter.
    type: str
    default: 127.0.0.1
  login_port:
    description: Its port.
    type: int
    default: 5432
  login_user:
    description: The user that creates users and databases.
    type: str
    default: postgres
  login_password:
    description: The password of that user. By default E(PGPASSWORD), or the file C(~/.pgpass).
    type: str
  login_db:
    description: The database to connect to.
    type: str
    default: postgres
  ssl_mode:
    description: Whether the connection is encrypted, and the certificate verified, as libpq's C(sslmode).
    type: str
    choices: [allow, disable, prefer, require, verify-ca, verify-full]
    default: prefer
  ca_cert:
    description: A file with the authorities to verify the certificate with.
    type: str
  database_hosts:
    description:
      - Only databases on these hosts, as C(spec.databaseConfig.host) spells them.
      - Required if the resources name several servers, because all databases are created on this one.
    type: list
    elements: str
    default: []
  adopt:
    description:
      - Whether to take over existing users that this module did not create for this namespace. It replaces their passwords
        and comments.
      - This gives authors of the resources access to the data of these users.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Create the databases of a NeMo platform
  nimops.nim.nim_databases:
    files: [nemo.yaml]
    namespace: nemo
    login_host: db.example.com
    login_user: admin
    ssl_mode: verify-full
  environment:
    PGPASSWORD: "{{ password_of_admin }}"
"""

RETURN = r"""
changes:
  description: The created or changed objects; in check mode, those that would be.
  returned: success
  type: list
  elements: str
  sample: ["Secret nemo/customizer-database", "user customizer", "database customizer"]
databases:
  description: The databases, their users and Secrets, and the resources that need them.
  returned: success
  type: list
  elements: dict
  sample:
    - name: customizer
      user: customizer
      secret: nemo/customizer-database
      server: postgresql:5432
      resource: NemoCustomizer nemo/customizer
"""
