# shellcheck shell=sh
exec nvidia-gds-driver install
