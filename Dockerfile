# The operator: the unmodified ansible-operator, this collection, and watches.yaml. `make image` builds it.
# It fetches nothing: all it needs is in the base image or in build/image, which `make image-files` fills.
# The version that the tests run, which sandbox/tools/ansible-operator/go.mod pins. 1.42.3 is newer, but its Go module could not be
# downloaded on 2026-11-28.
ARG BASE=quay.io/operator-framework/ansible-operator:v1.42.2
FROM ${BASE}

ARG OPERATOR_VERSION
ENV OPERATOR_VERSION=${OPERATOR_VERSION} \
    ANSIBLE_GATHERING=explicit \
    ANSIBLE_LOCALHOST_WARNING=false \
    ANSIBLE_INVENTORY_UNPARSED_WARNING=false \
    ANSIBLE_INVENTORY_ENABLED=ini \
    ANSIBLE_PIPELINING=true \
    PREFORK_MODULES=off \
    PREFORK_PRELOAD=nimops.nim

USER 0
RUN --mount=type=bind,source=build/image,target=/mnt sh /mnt/install.sh

# The base image runs as user 1001 of group 0; OpenShift runs it as another user in that group.
COPY watches*.yaml ${HOME}/
COPY playbooks ${HOME}/playbooks
USER 1001

# PREFORK=off in the environment runs the stock programs.
ENTRYPOINT ["/tini", "--", "python3", "-m", "nimops_supervisor", "--liveness-bind-address=:8082", "--", \
            "/usr/local/bin/ansible-operator", "run", "--watches-file=./watches.yaml"]
