# The operator: the unmodified ansible-operator, this collection, and watches.yaml.
# Build it from the root of the repository, after `make image-files` has built the files that are copied from build/.
FROM quay.io/operator-framework/ansible-operator:v1.42.2

ARG OPERATOR_VERSION=0.1.0
ENV OPERATOR_VERSION=${OPERATOR_VERSION} \
    ANSIBLE_GATHERING=explicit \
    ANSIBLE_LOCALHOST_WARNING=false \
    ANSIBLE_INVENTORY_UNPARSED_WARNING=false \
    ANSIBLE_INVENTORY_ENABLED=ini \
    ANSIBLE_PIPELINING=true \
    PREFORK_PRELOAD="nimops.nim kubernetes.core"

# Downloads nothing: all other dependencies are in the base image.
USER 0
COPY build/wheels /tmp/wheels
RUN pip3 install --no-index --no-deps --find-links /tmp/wheels ansible-prefork nimops-supervisor google-re2 && rm -rf /tmp/wheels

# The base image runs as user 1001 of group 0; OpenShift runs it as another user in that group.
COPY --chown=1001:0 requirements.yml watches.yaml build/nimops-nim-${OPERATOR_VERSION}.tar.gz ${HOME}/
COPY --chown=1001:0 playbooks ${HOME}/playbooks
RUN ansible-galaxy collection install --requirements-file ${HOME}/requirements.yml \
 && ansible-galaxy collection install --no-deps ${HOME}/nimops-nim-${OPERATOR_VERSION}.tar.gz \
 && rm -f ${HOME}/nimops-nim-${OPERATOR_VERSION}.tar.gz \
 && chmod -R ug+rwX ${HOME}/.ansible

USER 1001

# PREFORK=off in the environment runs the stock programs.
ENTRYPOINT ["/tini", "--", "python3", "-m", "nimops_supervisor", "--liveness-bind-address=:8082", "--", \
            "/usr/local/bin/ansible-operator", "run", "--watches-file=./watches.yaml"]
