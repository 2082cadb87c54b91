#!/usr/bin/env bash
# down.sh CLUSTER... | --all: ends the processes of clusters. Logs and data stay until the next up.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -gt 0 ] || usage
names=("$@")
if [ "$1" = --all ]; then
  names=()
  for f in "$work"/clusters/*/; do [ ! -d "$f" ] || names+=("$(basename "$f")"); done
fi
for name in "${names[@]}"; do
  case $name in -*) usage ;; esac
  [ -d "$work/clusters/$name" ] || die "$name: no such cluster below $work/clusters"
  cluster_folder "$name"
  # The supervisor first: it would start the scheduler again.
  for what in admission supervisor scheduler kube-scheduler karpenter kwok kube-controller-manager kube-apiserver etcd namespace; do
    f=$cluster/run/$what.pid
    if running "$f"; then
      read -r pid _ <"$f"
      kill "$pid" || true
      for _ in $(seq 50); do
        running "$f" || break
        sleep 0.1
      done
      ! running "$f" || kill -9 "$pid" || true
    fi
    rm -f "$f"
  done
done
