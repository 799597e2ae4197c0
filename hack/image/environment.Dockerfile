# A stand-in for the base image of the execution environment: the stand-in for the operator's base, with pip and all
# downloads of the build.
ARG BASE
FROM ${BASE}
USER 0
COPY ensurepip /opt/python/ensurepip
COPY wheels /opt/wheels
ENV PYTHONPATH=/opt/python \
    PIP_NO_INDEX=1 \
    PIP_FIND_LINKS=/opt/wheels
RUN --mount=type=bind,source=collections,target=/mnt \
    ansible-galaxy collection install --offline --no-deps --collections-path /usr/share/ansible/collections /mnt/*.tar.gz
ENTRYPOINT []
