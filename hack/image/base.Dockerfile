# A stand-in for the image quay.io/operator-framework/ansible-operator, for machines that cannot pull it.
FROM scratch
ADD rootfs.tar /
COPY python /usr/local
COPY ansible-operator /usr/local/bin/ansible-operator
ENV HOME=/opt/ansible \
    USER_NAME=ansible \
    USER_UID=1001 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN --mount=type=bind,source=.,target=/mnt set -eu; \
    ldconfig; \
    export PYTHONDONTWRITEBYTECODE=1; \
    PYTHONPATH="$(echo /mnt/pip/pip-*.whl)" python3 -m pip install --quiet --root-user-action=ignore --break-system-packages \
      --no-index --no-deps --no-compile /mnt/wheels/*.whl; \
    python3 -m compileall -q --invalidation-mode unchecked-hash /usr/local/lib/python3*; \
    ln -s "$(command -v tini)" /tini; \
    mkdir -p /etc/ansible "$HOME/.ansible/tmp"; \
    echo 'localhost ansible_connection=local' >/etc/ansible/hosts; \
    printf '[defaults]\nroles_path = /opt/ansible/roles\nlibrary = /usr/share/ansible/openshift\n' >/etc/ansible/ansible.cfg; \
    echo "$USER_NAME:x:$USER_UID:0:$USER_NAME user:$HOME:/sbin/nologin" >>/etc/passwd; \
    chown -R "$USER_UID:0" "$HOME"; \
    chmod -R ug+rwx "$HOME"
WORKDIR ${HOME}
USER ${USER_UID}
ENTRYPOINT ["/tini", "--", "/usr/local/bin/ansible-operator", "run", "--watches-file=./watches.yaml"]
