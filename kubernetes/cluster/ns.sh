#!/usr/bin/env bash
# ns.sh CLUSTER COMMAND...: runs a command in the network namespace of a cluster, with its kubectl.
#
# The namespace has nothing but loopback, so that the ports of clusters do not collide: YuniKorn's 9080 is fixed. It is made at the
# first use, and down.sh ends it. Needs root.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -ge 2 ] || usage
cluster_folder "$1"
shift
[ "$(id -u)" = 0 ] || die "only root can make a network namespace"
need ip iproute2
need unshare util-linux
need nsenter util-linux
mkdir -p "$cluster/run"
holder=$cluster/run/namespace.pid
if ! running "$holder"; then
  rm -f "$holder"
  # shellcheck disable=SC2016 # the inner shell expands it
  setsid unshare --net sh -c 'ip link set lo up && ip address add "$2/32" dev lo && touch "$1.up" && exec sleep infinity' - "$holder" $address </dev/null >/dev/null 2>&1 &
  pid=$!
  for _ in $(seq 50); do
    [ -e "$holder.up" ] && break
    sleep 0.1
  done
  [ -e "$holder.up" ] || die "no network namespace could be made"
  rm "$holder.up"
  write_pid "$holder" $pid
fi
# shellcheck source=/dev/null
[ -f "$cluster/env" ] && . "$cluster/env"
export CANOPY_CLUSTER_NAMESPACE=$cluster
read -r pid _ <"$holder"
exec nsenter -t "$pid" -n "$@"
