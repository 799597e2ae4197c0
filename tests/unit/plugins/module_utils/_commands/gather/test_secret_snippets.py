# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Output of programs and texts of users, searched for secrets like an attacker would.

``S`` is the secret, and ``KEPT`` is text that must stay.
"""

from __future__ import annotations

import base64
import json
import re

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.redact import (
    Redactor,
    redact_text,
)

S = "Zq7Xw2canary9Lk"
TIME = "2026-01-01T00:00:00.123456789Z "
BASIC = base64.b64encode(f"user:{S}".encode()).decode()
HIDDEN_BASIC = BASIC[8:20]
LONG = 3000
"""Lines of more than 16 KiB in total."""

SNIPPETS = {
    # flows in several lines
    "flow map in several lines": "x: {a: KEPT, password: S\n    S, b: c}\ny: KEPT",
    "flow map over three lines": "x: {a: KEPT, password: S\n  S\n  S, b: c}\ny: KEPT",
    "flow map, value below": "x: {a: KEPT, password:\n    S S, b: c}\ny: KEPT",
    "flow map, value far below": "x: {a: KEPT, password:\n    S\n    S, b: c}\ny: KEPT",
    "flow map, key first in a line": "x: {a: KEPT,\n  password: S\n  S, b: c}\ny: KEPT",
    "flow map, key and value below": "x: {a: KEPT,\n  password:\n    S S, b: c}\ny: KEPT",
    "flow map, key first, end in the line": "x: {a: KEPT,\n  password: S S}\ny: KEPT",
    "flow map, quoted key": "x: {a: KEPT, 'password': S\n    S, b: c}\ny: KEPT",
    "flow map after a cookie": "x: {a: KEPT, cookie: S}, pwd: {\n  a: S,\n  b: S}\ny: KEPT",
    "flow map that is cut": "x: {a: KEPT, password: S\n    S",
    "flow map in a list": "x: [{a: KEPT, password: S\n    S}, {b: c}]\ny: KEPT",
    "flow map after times": f"{TIME}x: {{a: KEPT, password: S\n{TIME}    S, b: c}}\n{TIME}y: KEPT",
    "flow map with a complex key": "x: {a: KEPT, ? password\n  : S S, b: c}\ny: KEPT",
    "map that is cut": '{"x": "KEPT", "privateKey": {"path": "S',
    # longer than a limit
    "long list": "passwords: [\n" + "  S,\n" * LONG + "]\ny: KEPT",
    "long list in JSON": '{"passwords": [\n' + '  "S",\n' * LONG + '  "x"],\n"y": "KEPT", z}',
    "long list in one line": '{"passwords": [' + '"S", ' * LONG + '"x"], "y": 1, z}\nKEPT',
    "long map": "credentials: {\n" + "  a: S,\n" * LONG + "}\ny: KEPT",
    "long text in quotes": 'password: "' + "S\n  " * LONG + '"\ny: KEPT',
    "long text in single quotes": "password='" + "S\n" * LONG + "'\ny=KEPT",
    "long text in three quotes": 'password = """' + "S\n" * LONG + '"""\ny = "KEPT"',
    "long element": "<credentials>\n" + "<a>S</a>\n" * LONG + "</credentials>\n<y>KEPT</y>",
    "long tuple": "passwords = (\n" + "  'S',\n" * LONG + ")\ny = KEPT",
    "long list after times": f"{TIME}tokens: [\n" + f"{TIME}  S,\n" * LONG + f"{TIME}]\n{TIME}KEPT",
    "long map of Go": "{Host:KEPT Tokens:[" + "S " * LONG + "] X:1}\nKEPT",
    "unclosed list like settings": "y: KEPT\npasswords: [\n" + "a: S\n" * 500,
    "long block": "password: |\n" + "  S\n" * LONG + "y: KEPT",
    "long block with blank lines": "password: |\n  S\n" + "\n" * 200 + "  S\ny: KEPT",
    # commented out
    "block in comments": "# password: |\n#   S\n#   S\n# other: KEPT",
    "block in comments, indented": "  # password: |\n  #   S\n  #   S\n  # other: KEPT",
    "block in comments without a space": "#password: |\n#  S\n#  S\n#other: KEPT",
    "list in comments": "# passwords:\n# - S\n# - S\n# other: KEPT",
    "list in comments, indented": "# passwords:\n#   - S\n#   - S\n# other: KEPT",
    "map in comments": "# db:\n#   credentials:\n#     a: S\n#     b: S\n#   other: KEPT",
    "folded in comments": "# password: a\n#   S\n# other: KEPT",
    "quotes in comments": "# password: 'a\n#   S'\n# other: KEPT",
    "block in slashes": "// password: |\n//   S\n//   S\n// other: KEPT",
    "block in comments after times": f"{TIME}# password: |\n{TIME}#   S\n{TIME}# other: KEPT",
    "block in a diff": "+password: |\n+  S\n+  S\n+other: KEPT",
    "list in a diff": "-passwords:\n-- S\n-- S\n other: KEPT",
    "pair in comments": "# - name: NGC_API_KEY\n#   value: S\n# - name: KEPT",
    "pair with a block in comments": "# - name: NGC_API_KEY\n#   value: |\n#     S\n# - name: KEPT",
    # columns by position
    "table": "USER    PASSWORD          HOST\nbob     S   KEPT\namy     a S           KEPT\n\nKEPT",
    "table, last column": "NAME   AGE   TOKEN\nKEPT   3d    S S\nKEPT   4d    S\n\nKEPT",
    "table, first column": "TOKEN             NAME\nS   KEPT\nS   KEPT\n",
    "table, empty cells": "NAME   PASSWORD          HOST\nKEPT                     x\nKEPT   S   x\n",
    "table after times": f"{TIME}NAME   PASSWORD          HOST\n{TIME}KEPT   S   x\n{TIME}KEPT",
    "table with two words": "User name   Access key         Host\n----------  ----------  -----\nKEPT        S    x\n",
    "table, right-aligned": "  user            password\n  KEPT     S\n  KEPT                S\n",
    "table of psql": " id | user | password \n----+------+---------------\n  1 | KEPT | S\n(1 row)\n",
    "table of mysql": "+------+----------------+\n| user | password       |\n+------+----------------+\n| KEPT | S |\n+------+----------------+\n",
    "table, two columns": "user   password\nKEPT   S\n",
    "list of settings": "Name:       KEPT\nPassword:   S S\nHost:       KEPT",
    "aws configure list": (
        "      Name                    Value             Type    Location\n"
        "      ----                    -----             ----    --------\n"
        "   profile                <not set>             None    None\n"
        "access_key     S shared-credentials-file    \n"
        "secret_key     S shared-credentials-file    \n"
        "    region                KEPT      config-file    ~/.aws/config\n"
    ),
    "settings in two columns": "host   KEPT\napi_key     abcdef\nsecret_key     qwertycanary",
    "two columns of pairs": "NAME            VALUE\nHF_TOKEN        S\nMODEL           KEPT\n",
    # servers
    "nginx": "proxy_set_header X-Api-Key S;\nproxy_set_header X KEPT;",
    "nginx, quoted": 'proxy_set_header X-Auth-Token "S S";\nx "KEPT";',
    "nginx, log": f'1.2.3.4 - KEPT [1/Jan/2026] "GET /v1?api_key=S HTTP/1.1" 200 "Basic {BASIC}"',
    "nginx, map": 'map $http_x_api_key $client {\n  "S" "bob";\n}\nKEPT',
    "postgres": "FATAL: KEPT\nDETAIL: Connection matched.\nSTATEMENT: ALTER ROLE u PASSWORD 'S'",
    "postgres, encrypted": "ALTER USER KEPT WITH ENCRYPTED PASSWORD 'S'",
    "postgres, DSN": 'connect failed: "host=KEPT user=u password=S dbname=d"',
    "postgres, DSN quoted": "host=KEPT password='S S' dbname=d",
    "pgbouncer": '"KEPT" "SCRAM-SHA-256$4096:c2FsdA==$S:S"',
    "mysql URL": "mysql://u:S@KEPT/db",
    "mysql URL with signs": "mysql://u:S/S#S@KEPT/db",
    "SQLAlchemy": "create_engine('mysql+pymysql://u:S@KEPT:3306/db?charset=x')",
    "JDBC": "jdbc:postgresql://KEPT/db?user=u&password=S",
    "JDBC of Oracle": "jdbc:oracle:thin:u/S@//KEPT:1521/x",
    "mongo": "mongodb+srv://u:S@KEPT/?retryWrites=true",
    "redis": "AUTH S\nKEPT",
    "redis CONFIG": "CONFIG SET requirepass S\nKEPT",
    "kafka": 'sasl.jaas.config=org.x.PlainLoginModule required username="KEPT" password="S";',
    "AMQP": "amqp://u:S@KEPT:5672/%2f",
    "ODBC": "Driver={x};Server=KEPT;UID=u;PWD={S;S};",
    "LDAP": "bindDN=KEPT bindpw S",
    "SMTP": "AUTH PLAIN S\nKEPT",
    "wpa": 'network={\n ssid="KEPT"\n psk="S"\n}',
    # Python
    "traceback": (
        'Traceback (most recent call last):\n  File "KEPT.py", line 1, in f\n'
        "    connect(password='S')\nValueError: bad <Config host='x' password='S'>"
    ),
    "repr": "Client(base_url='KEPT', api_key='S', timeout=<Timeout 3>)",
    "repr of a dataclass": "Login(user='KEPT', password=Secret(value='S'), x=1)",
    "repr of a dict": "environ({'HF_TOKEN': 'S', 'HOME': 'KEPT'})",
    "repr of pydantic": "input_value={'api_key': 'S', 'model': 'KEPT'}, input_type=dict",
    "repr of Headers": "Headers({'host': 'KEPT', 'authorization': 'Basic S'})",
    "repr of an ordered dict": "OrderedDict([('user', 'KEPT'), ('password', 'S')])",
    "repr of bytes": "{b'x-api-key': b'S', b'x': b'KEPT'}",
    "locals": "│ password = 'S'   │\n│ host = 'KEPT'    │",
    "argparse": "Namespace(model='KEPT', api_key='S', hf_token=None)",
    "f-string": "self.password='S' self.host='KEPT'",
    "walrus": 'if (token := "S"): KEPT',
    "pprint": "{'password': 'S'\n             'S',\n 'x': 'KEPT'}",
    "parentheses": "password = (\n    'S'\n    'S'\n)\nx = 'KEPT'",
    "added": "password = 'a' + 'S'\nx = 'KEPT'",
    "added in several lines": 'password = "a" \\\n    "S"\nx = "KEPT"',
    "default": "token = os.getenv('HF_TOKEN', 'S')\nKEPT",
    "default of get": "token = config.get('api_key', default='S')\nKEPT",
    # Go
    "%+v": "{Host:KEPT Auth:{User:u Password:S} TLS:<nil>}",
    "%+v with spaces": "{Host:KEPT Password:S S S Port:1}",
    "%+v of a pointer": "&{Host:KEPT APIKey:S Next:0xc000012345}",
    "%#v": 'main.Config{Host:"KEPT", Credentials:main.Creds{User:"u", Password:"S"}}',
    "%#v of a map": 'map[string]string{"host":"KEPT", "password":"S"}',
    "%#v of bytes": 'Secret{Data:map[string][]uint8{"password":[]uint8{0x1}, "y":"S"}} KEPT',
    "%v of headers": "map[Accept:[KEPT] X-Api-Key:[S] Y:[1]]",
    "zap": 'KEPT\t{"token": "S", "n": 1}',
    "logr": 'I0101 KEPT "msg" password="S S" x="y"',
    "spew": 'Password: (string) (len=15) "S",\nHost: (string) (len=4) "KEPT"',
    # HTTP
    "curl -v": f"> GET / HTTP/1.1\n> Host: KEPT\n> Authorization: Basic {BASIC}\n> X-Api-Key: S\n< Set-Cookie: a=S; Path=/",
    "curl -v, user": "* Server auth using Basic with user 'KEPT'\n> Proxy-Authorization: Basic S",
    "HTTP/2": "* h2h3 [authorization: Basic S]\n* [x: KEPT]",
    "HTTP/2 of curl 8": "* [HTTP/2] [1] [authorization: Bearer S]\n* [HTTP/2] [1] [x: KEPT]",
    "header in several lines": "Authorization: Basic\n  S\nX: KEPT",
    "header in several lines, JSON": '"Authorization":\n  "Basic S",\n"X": "KEPT"',
    "header in several lines, tab": "Authorization:\n\tBearer S\nX: KEPT",
    "header in several lines, digest": 'Authorization: Digest username="u",\n response="S"\nX: KEPT',
    "header in several lines after times": f"{TIME}Authorization: Basic\n{TIME}  S\n{TIME}X: KEPT",
    "set-cookie": "set-cookie: sid=S; expires=Wed, 01 Jan 2026 00:00:00 GMT\nx: KEPT",
    "set-cookie in Go": "map[Set-Cookie:[a=S; Path=/ b=S; HttpOnly] X:[KEPT]]",
    "cookie jar": "KEPT\tFALSE\t/\tFALSE\t0\tsessionid\tS",
    "HAR": '{"name": "Authorization", "value": "Basic S", "x": "KEPT"},',
    "HAR, reversed": '{"value": "Token S", "name": "Authorization"}, KEPT',
    "wget": "wget --http-user=KEPT --http-password=S x",
    "httpie": "http -a KEPT:S example.org",
    "gRPC": "metadata: ('authorization', 'Basic S'), ('x', 'KEPT')",
    "multipart": (
        'Content-Disposition: form-data; name="password"\r\n\r\nS\r\n--x\r\n'
        'Content-Disposition: form-data; name="y"\r\n\r\nKEPT\r\n'
    ),
    # clusters
    "helm values": "postgresql:\n  auth:\n    username: u\n    postgresPassword: S\n  host: KEPT",
    "helm, commented": "db:\n  ## @param auth.password KEPT of x\n  ##\n  password: S\n",
    "helm --set": "helm upgrade x --set 'a=b,auth.password=S\\,S,c=KEPT' y",
    "helm --set-string": "helm upgrade --set-string global.ngcApiKey=S,model=KEPT",
    "docker inspect": '"Env": [\n  "NGC_API_KEY=S",\n  "PATH=/usr/bin",\n  "X=KEPT"\n],',
    "docker inspect, truncated": '[{"Config": {"Env": ["A=KEPT", "HF_TOKEN=S S", "B=c"',
    "docker login": "docker login nvcr.io --username '$oauthtoken' --password S KEPT",
    "docker history": "/bin/sh -c #(nop)  ENV HF_TOKEN=S   0B KEPT",
    "docker build": "docker build --build-arg HF_TOKEN=S KEPT",
    "compose": "services:\n  x:\n    environment:\n      - DB_PASSWORD=S\n      - X=KEPT",
    "kubectl describe": "    Environment:\n      NGC_API_KEY:  S S\n      X:            KEPT",
    "kubectl -o wide": "NAME   TYPE     PASSWORD\nKEPT   Opaque   S\n",
    "kubectl jsonpath": "map[password:S user:KEPT]",
    "kubectl set env": "kubectl set env deploy/KEPT HF_TOKEN=S",
    "kubectl config": "kubectl config set-credentials KEPT --token S --password=S",
    "systemd": '[Service]\nEnvironment="HF_TOKEN=S" "X=KEPT"\nEnvironment=DB_PASSWORD=S',
    "systemd, in several lines": "Environment=DB_PASSWORD=a\\\n  S\nX=KEPT",
    "systemd, set credential": "SetCredential=db:S\nX=KEPT",
    "EnvironmentFile": '; KEPT\nHF_TOKEN="S\\\nS"\nX=KEPT',
    "properties": "db.password = a\\\n    S\\\n    S\ndb.host = KEPT",
    "properties, CRLF": "db.password = a\\\r\n    S\r\ndb.host = KEPT\r\n",
    "properties with escapes": "db.password=a\\=S\\:S\\ S\ndb.host=KEPT",
    "properties, escaped key": "db\\ password=S\ndb.host=KEPT",
    "properties after times": f"{TIME}db.password=a\\\n{TIME}    S\n{TIME}db.host=KEPT",
    "spring": "spring.datasource.password=${DB_PASSWORD:S}\nx=KEPT",
    "default in shell": "export DB_PASSWORD=${DB_PASSWORD:-S}\nX=KEPT",
    "Jupyter": '{"cells": [{"source": ["api_key = \\"S\\"\\n", "x = 1"], "y": "KEPT"}]}',
    "Jupyter, truncated": '"source": [\n "os.environ[\\"HF_TOKEN\\"] = \\"S\\"\\n",\n "KEPT"\n],',
    "Jupyter magic": '"source": ["%env HF_TOKEN=S\\n", "%env X=KEPT"',
    "heredoc": "cat <<EOF > /etc/x\npassword: S\n  S\nEOF\nKEPT",
    "heredoc as a value": "DB_PASSWORD=$(cat <<EOF\nS\nS\nEOF\n)\nX=KEPT",
    "heredoc to a variable": "read -r -d '' DB_PASSWORD <<EOF\nS\nS\nEOF\nX=KEPT",
    "heredoc of HCL": "password = <<-EOT\n  S\n  S\nEOT\nx = KEPT",
    "heredoc of HCL, not indented": "password = <<EOT\nS\nS\nEOT\nx = KEPT",
    "heredoc to a command": "vault write x password=- <<< S\nKEPT",
    "terraform": '+ password = "S" -> (known after apply)\n+ x = "KEPT"',
    "terraform, changed": '~ password = "S" -> "S"\n  x = "KEPT"',
    "ansible": 'ok: [KEPT] => {"msg": {"db_password": "S", "x": 1}}',
    "ansible, inventory": "KEPT ansible_user=u ansible_password='S S' ansible_become_pass=S",
    "ansible, debug": 'ok: [KEPT] => {\n    "db_password": "S"\n}',
    "basic in an environment": f"AUTH_HEADER='Basic {BASIC}' X=KEPT",
    "base64 piped": f"echo {BASIC} | base64 -d; KEPT",
    "user in base64": f"auth: {BASIC}\nx: KEPT",
    "aws configure": "AWS Access Key ID [None]: S\nAWS Secret Access Key [None]: S\nDefault region name [None]: KEPT",
    "aws sts": '"Credentials": {\n "SecretAccessKey": "S",\n "SessionToken": "S"\n}, KEPT',
    "aws env": "$env:AWS_SECRET_ACCESS_KEY='S'; KEPT",
    "JSON in an environment": 'X=KEPT CONFIG={"db":{"password":"S","x":1}}',
    "JSON in an environment, escaped": 'X=KEPT CONFIG="{\\"db\\":{\\"password\\":\\"S\\",\\"x\\":1}}"',
    "service account": 'GOOGLE_JSON={"type":"KEPT","private_key":"S","private_key_id":"S"}',
    "anchor": "x: &a\n  password: &p S\n  y: KEPT\nz: *p",
    "anchor of a block": "password: &p |\n  S\n  S\ny: KEPT",
    "anchor of a map": "credentials: &c\n  a: S\n  b: S\ny: KEPT\nz:\n  <<: *c",
    "anchor with a tag": "password: !!str &p S S\ny: KEPT",
    "anchor elsewhere": "x: &dbPassword S\ny: KEPT\npassword: *dbPassword",
    "alias used as a password": "defaults:\n  x: &p S\ny: KEPT\npassword: *p",
    "alias used before": "x: &p 'S S'\ny: KEPT\nz: {password: *p}",
    "alias of a block": "x: &p |\n  S\n  S\ny: KEPT\npassword: *p",
    # names
    "camelCase": "dbPassWord: S\nmyApiKEY: S\nx: KEPT",
    "kebab-case": "db-pass-word: S\nclient-secret-value: S\nx: KEPT",
    "upper case": "DBPASSWORD=S\nCLIENTSECRET=S\nAPIKEY=S\nX=KEPT",
    "lower case": "dbpassword=S\nclientsecret=S\nngcapikey=S\nx=KEPT",
    "split names": "API_K_E_Y=KEPT\nA_P_I_KEY=S",
    "with digits": "PASSWORD2=S\nTOKEN_1=S\nP4SSW0RD=KEPT",
    "with spaces": "API key: S\nAccess token: S\nx: KEPT",
    "Cyrillic a": "p\u0430ssword: S\nx: KEPT",
    "Cyrillic e": "tok\u0435n=S x=KEPT",
    "full width": "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44=S\nx=KEPT",
    "full-width colon": "password\uff1a S\nx: KEPT",
    "zero width": "pass\u200bword: S\nx: KEPT",
    "soft hyphen": "pass\u00adword: S\nx: KEPT",
    "no-break space": "password:\u00a0S\nx: KEPT",
    "other languages": "contrase\u00f1a: S\nmot_de_passe: S\npasswort=S\nkennwort: S\nx: KEPT",
    "accent": "p\u00e1ssword: S\nx: KEPT",
    "escaped name": '{"pass\\u0077ord": "S", "x": "KEPT"}, y',
    "next line": "Password:\nS\nKEPT x",
    "next line, prompt": "Enter password:\nS\nKEPT x",
    "next line, indented": "Your API key:\n\n    S\n\nKEPT x",
    "next line with a sentence": "The token is:\nS\nKEPT x",
    "next line, dash": "Generated password:\n- S\nKEPT x",
    "next line, arrow": "password =>\n  S\nKEPT x",
    "next line of a flag": "--api-key\n  S\n--x KEPT",
    "next line of a name": "api_key\nS\nKEPT x",
    # a second attack
    "NIM log": f"{TIME}INFO KEPT NIM_ENV={{'NGC_API_KEY': 'S', 'X': 1}}",
    "uvicorn": 'INFO: 10.0.0.1:1 - "GET /v1/models?api-key=S HTTP/1.1" KEPT',
    "vLLM arguments": "args: Namespace(host='KEPT', api_key=['S', 'S'], ssl_keyfile=None)",
    "vLLM non-default": "non-default args: {'model': 'KEPT', 'api_key': ['S']}",
    "triton": "| model_repository_path | KEPT |\n| auth_token            | S    |",
    "huggingface_hub": "Cannot access KEPT with headers {'authorization': 'Bearer S'}",
    "requests debug": "send: b'GET / HTTP/1.1\\r\\nHost: KEPT\\r\\nAuthorization: Basic S\\r\\n\\r\\n'",
    "requests header": "header: Set-Cookie: a=S\nheader: x: KEPT",
    "urllib3": 'https://KEPT:443 "GET /x?X-Amz-Security-Token=S&X-Amz-Signature=S HTTP/1.1" 200',
    "boto3": "Calculating signature using v4 auth. CanonicalRequest: KEPT x-amz-security-token:S",
    "botocore": "Response headers: {'x-amz-id-2': 'KEPT', 'x-amz-security-token': 'S'}",
    "rclone": "[KEPT]\ntype = s3\nsecret_access_key = S\nsession_token = S",
    "s3cfg": "access_key = S\nsecret_key = S\nhost_base = KEPT",
    "pip": "Looking in indexes: https://user:S@KEPT/simple",
    "npmrc": "//KEPT/:_authToken=S\n//KEPT/:_password=S",
    "pypirc": "[pypi]\nusername = KEPT\npassword = S",
    "git": "fatal: unable to access 'https://oauth2:S@KEPT/x.git/'",
    "git header": "http.https://KEPT/.extraheader=AUTHORIZATION: basic S",
    "vault": "Key                  Value\n---                  -----\ntoken                S\nlease                KEPT",
    "vault JSON": '{"auth":{"client_token":"S","accessor":"S"},"x":"KEPT"}',
    "etcd": '/registry/secrets/KEPT {"data":{"password":"S"}}',
    "openssl": "Enter pass phrase: S\nKEPT",
    "ssh": "debug1: KEPT\nbob@host's password: S",
    "SSH key in an environment": "SSH_PRIVATE_KEY=S\\nS\\nS\nX=KEPT",
    "grafana": 'GF_SECURITY_ADMIN_PASSWORD=S\n[KEPT]\nadmin_password = """S#S;"""',
    "prometheus": "basic_auth:\n  username: u\n  password: S\nx: KEPT",
    "prometheus bearer": "authorization:\n  type: Bearer\n  credentials: S\nx: KEPT",
    "alertmanager": "slack_api_url: 'https://hooks.slack.com/services/T/B/S'\nx: KEPT",
    "fluentd": "<match x>\n  shared_key S\n  host KEPT\n</match>",
    "haproxy": "userlist x\n  user bob insecure-password S\n  KEPT y",
    "apache": "SetEnv DB_PASSWORD S\nKEPT",
    "php": "define('DB_PASSWORD', 'S');\n// KEPT",
    "php array": "'password' => env('DB_PASSWORD', 'S'),\n'host' => 'KEPT'",
    "rails": "secret_key_base: S\nx: KEPT",
    "django": "SECRET_KEY = 'django-insecure-S'\nX = 'KEPT'",
    "django dict": "DATABASES = {'default': {'PASSWORD': 'S', 'HOST': 'KEPT'}}",
    "laravel": "APP_KEY=base64:S\nX=KEPT",
    "dotnet": '"ConnectionStrings": {"Db": "Server=KEPT;Password=S;Encrypt=true"}',
    "appsettings": "ConnectionStrings__Db=Server=KEPT;User=u;Pwd=S",
    "log4j": "KEPT [main] user=u, password=S, url=x",
    "tomcat": '<Resource name="KEPT" username="u" password="S" />',
    "maven": "<server><id>KEPT</id><password>S</password></server>",
    "spring log": "KEPT DataSource{url='x', username='u', password='S'}",
    "protobuf": 'user: "KEPT"\npassword: "S"\nnested { token: "S" }',
    "protobuf in a line": 'auth { token: "S" user: "u" } host: "KEPT"',
    "thrift": "Login(user:KEPT, password:S)",
    "Rust debug": 'Config { host: "KEPT", token: Secret("S"), key: None }',
    "Rust pretty": 'Config {\n    host: "KEPT",\n    token: Some(\n        "S",\n    ),\n}',
    "Ruby": '#<Config:0x1 @host="KEPT", @password="S">',
    "Node": "{ host: 'KEPT', password: 'S', headers: { 'x-api-key': 'S' } }",
    "Node in several lines": "{\n  host: 'KEPT',\n  apiKey:\n   'S',\n  auth: [ 'S',\n    'S' ]\n}",
    "lua": 'password = [[S\nS]]\nx = "KEPT"',
    "powershell": "$Password = ConvertTo-SecureString 'S' -AsPlainText\nKEPT",
    "bat": 'set "DB_PASSWORD=S"\nset X=KEPT',
    "fish": "set -gx HF_TOKEN S\nset -gx X KEPT",
    "csh": "setenv HF_TOKEN S\nsetenv X KEPT",
    "shell trace": "+ export HF_TOKEN=S\n+ HF_TOKEN=S\n+ echo KEPT",
    "shell trace, quoted": "++ NGC_API_KEY='S S'\n++ x=KEPT",
    "shell array": "passwords=(S S 'S')\nx=KEPT",
    "shell $'…'": "export HF_TOKEN=$'S\\nS'\nX=KEPT",
    "env -0": "X=KEPT\0HF_TOKEN=S\0Y=1",
    "proc cmdline": "server\0--api-key\0S\0--model\0KEPT",
    "read": "KEPT; read -s DB_PASSWORD <<< 'S'",
    "URL with a token as user": "https://S:x-oauth-basic@KEPT/x",
    "URL, encoded user": "https://u%40x:S%2FS@KEPT/x",
    "URL in several lines": "postgres://u:S@KEPT/x\n  ?password=S",
    "matrix parameter": "/KEPT;jsessionid=S?y=z",
    "JWT in several lines": "eyJhbGciOiJIUzI1NiJ9.\neyJzdWIiOiIxIn0.S\nKEPT",
    "OTP": "Your one-time password is: S\nKEPT",
    "OTP secret": "KEPT: otpauth://totp/x?secret=S&issuer=x",
    "webhook": "X-Hub-Signature-256: sha256=S\nx: KEPT",
    "kubeadm": "kubeadm join KEPT:6443 --token S --discovery-token-ca-cert-hash sha256:x",
    "kubeadm key": "--certificate-key S --x KEPT",
    "cloud-init": "chpasswd:\n  list: |\n    root:S\nx: KEPT",
    "cloud-init users": "users:\n- name: KEPT\n  passwd: S\n  hashed_passwd: S",
    "wireguard": "[Interface]\nPrivateKey = S\n[Peer]\nPresharedKey = S\nEndpoint = KEPT",
    "ansible vault": "x: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3061canary3061\ny: KEPT".replace(
        "3061canary3061", "6162" * 8
    ),
    "SOPS": "password: ENC[AES256_GCM,data:S,iv:S,tag:S,type:str]\nx: KEPT",
    "sealed": "encryptedData:\n  password: S\nx: KEPT",
    "event": 'Error: failed to start container "KEPT": exec: "--api-key=S": not found',
    "event, quoted": "Back-off KEPT, command: [sh -c export HF_TOKEN=S; serve]",
    "admission": 'spec.env[0].value: Invalid value: "S": KEPT, NGC_API_KEY must not be set',
    "strategic merge": '{"spec":{"env":[{"name":"HF_TOKEN","value":"S"}],"x":"KEPT"',
    "JSON patch": '[{"op":"replace","path":"/spec/password","value":"S"},{"x":"KEPT"}] y',
    "diff of objects": '-        "value": "S",\n         "name": "HF_TOKEN"\n KEPT',
    "JSON lines": '{"password":"S"}\n{"x":"KEPT"}\n{"token":"S"}',
    "JSON with comments": '{\n  // the password\n  "password": /* x */ "S",\n  "x": "KEPT"\n}',
    "YAML comment before": "password: # see x\n  S\ny: KEPT",
    "YAML with two documents": "password: |\n  S\n---\nx: KEPT",
    "YAML merge": "<<: {password: S S, x: 'y'}\ny: KEPT",
    "YAML, quoted escape": '"pass\\x77ord": S\nx: KEPT',
    "TOML, dotted": 'db."password" = "S"\nx = "KEPT"',
    "TOML, inline": 'db = { host = "KEPT", password = "S" }',
    "INI, colon": "password : S\nhost : KEPT",
    "form": "username=KEPT&password=S%21&x=1",
    "form, plus": "user=KEPT&password=S+S+S&x=y",
    "HTML form": '<input name="password" type="text" value="S"> KEPT',
    "GraphQL": 'mutation { login(user: "KEPT", password: "S") { token } }',
    "GraphQL variables": '{"variables":{"input":{"password":"S"}},"query":"KEPT"} x',
    "SQL insert": "KEPT: INSERT INTO users (name, password) VALUES ('u', 'S'),\n  ('v', 'S');\nKEPT",
    "SQL update": "UPDATE users SET password = 'S' WHERE name = 'KEPT'",
    "SQL parameters": "KEPT: parameters: $1 = 'x', $2 = 'S', $3 = 'a''S'",
    "SQL alchemy": "[SQL: INSERT INTO users (name, password) VALUES (%(name)s)] [parameters: {'password': 'S', 'x': 'KEPT'}]",
}


def fill(text: str) -> str:
    """The text with each S that is a separate word replaced by the secret."""
    return re.sub(r"(?<![A-Za-z_])S(?![A-Za-z_'\-])|(?<![A-Za-z_])S(?=')", lambda _found: S, text)


def is_left(text: str) -> bool:
    return "canary" in text or HIDDEN_BASIC in text


@pytest.mark.parametrize("text", SNIPPETS.values(), ids=SNIPPETS)
def test_redact_text(text: str) -> None:
    text = fill(text)
    found = redact_text(text)
    assert not is_left(found), found[-2000:]
    assert "KEPT" in found, found[-2000:]
    again = redact_text(found)
    assert not is_left(again)


OBJECT = [{"op": "replace", "path": "/spec/password", "value": S}, {"x": "KEPT"}]


def test_redact_text_patch() -> None:
    found = json.dumps(Redactor().redact_object(OBJECT))
    assert not is_left(found)
    assert "KEPT" in found


SEEN = {
    "environment": {"env": [{"name": "NGC_API_KEY", "value": S}]},
    "environment, reversed": {"env": [{"value": S, "name": "NGC_API_KEY"}]},
    "annotation": {"metadata": {"annotations": {"example.com/token": S}}},
    "field": {"spec": {"x": [{"password": f"{S}\n"}]}},
    "flag": {"args": ["--x", "--api-key", S]},
    "flag and =": {"args": [f"--api-key={S}"]},
    "ConfigMap": {"kind": "ConfigMap", "data": {"password": S}},
    "UUID": {"env": [{"name": "API_KEY", "value": "0123abcd-0123-4567-89ab-0123canary00"}]},
}


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_redactor_hides_known_values(seen: dict[str, object]) -> None:
    redactor = Redactor()
    redactor.learn([{"items": 1}, seen])
    secret = "0123abcd-0123-4567-89ab-0123canary00" if "0123" in json.dumps(seen) else S
    for text in (f"KEPT {secret}, KEPT", f"KEPT/{secret}"):
        assert redactor.redact_text(text) == text.replace(secret, "(redacted)")
        assert redactor.redact_object({"x": [text]}) == {"x": [text.replace(secret, "(redacted)")]}
        assert "canary" not in redactor.redact_rest(text)
    assert not is_left(json.dumps(redactor.redact_object(seen)))


UNSEEN = {
    "AUTH_TYPE": ["kubernetes", "oauth2-proxy", "nvidia.com/ngc2", "https://idp2.example/x"],
    "PASSWORD": ["$(DB_PASSWORD2)", "${X_2}", "short1", "12345678", "/run/secrets/db2", "true"],
    "SESSION_STORE": ["redis-0.redis.svc:6379", "redis-master-0"],
    "COOKIE_AGE": ["86400000", "86400000s"],
    "API_KEY_NAME": ["NGC_API_KEY_2"],
    "authSecret": ["NgcSecret2"],
    "max_tokens": ["4096000"],
    "model": ["Llama33Nemotron"],
}


@pytest.mark.parametrize("name", UNSEEN)
def test_redactor_keeps_common_words(name: str) -> None:
    redactor = Redactor()
    for value in UNSEEN[name]:
        redactor.learn({"env": [{"name": name, "value": value}], name: value})
        assert redactor.redact_text(f"connecting, {value} found") == f"connecting, {value} found"
