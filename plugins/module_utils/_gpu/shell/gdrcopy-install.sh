# shellcheck shell=sh
exec nvidia-gdrcopy-driver install
