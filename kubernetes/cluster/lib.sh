#!/usr/bin/env bash
# lib.sh: what the scripts of this folder have in common. Sourced, not run.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # for the scripts that source this one
repository=$(cd "$here/../.." && pwd)
# Everything that these scripts write is below this folder.
work=${CANOPY_CLUSTER:-${XDG_CACHE_HOME:-${HOME:?HOME or CANOPY_CLUSTER must be set}/.cache}/canopy-cluster}
# The version of Kubernetes: there is a folder kubernetes-VERSION.
KUBERNETES=${KUBERNETES:-1.37}
# shellcheck disable=SC2034
module=github.com/apache/yunikorn-k8shim # the shim, whose suites are run
# An address that each network namespace has besides 127.0.0.1.
# shellcheck disable=SC2034
address=10.99.0.1

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# usage prints the comment at the beginning of the script.
usage() {
  awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" >&2
  exit 2
}

# need TOOL PACKAGE: the tool is there, or the message names the Debian package that has it.
need() {
  command -v "$1" >/dev/null || die "$1 is missing; on Debian: apt-get install $2"
}

need_go() {
  command -v go >/dev/null || die "go is missing: https://go.dev/dl (1.26 or later)"
}

# cluster_folder NAME: sets $cluster to the folder of the cluster.
cluster_folder() {
  [[ $1 =~ ^[a-z0-9][a-z0-9_-]*$ ]] || die "$1: a cluster's name has lower-case letters, digits, - and _"
  mkdir -p "$work/clusters/$1"
  cluster=$(cd "$work/clusters/$1" && pwd)
}

# Feature gates of 1.37 with which pod groups are gangs, of the control plane and of kube-scheduler.
# shellcheck disable=SC2034
workload_features=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,PodGroupPreemptionPolicy=true,WorkloadWithJob=true
# shellcheck disable=SC2034
karpenter_go=go1.27.3 # the Go with which Karpenter is built

# need_kubernetes: there is a go.mod for the version.
need_kubernetes() {
  [ -f "$here/kubernetes-$KUBERNETES/go.mod" ] || die "KUBERNETES is $KUBERNETES; the versions: $(cd "$here" && echo kubernetes-*)"
}

# running FILE: the process of this pid file is there, and is the one that wrote it: the file's second word is its start time.
running() {
  local pid start now
  [ -s "$1" ] && read -r pid start <"$1" && now=$(start_time "$pid") && [ "$now" = "$start" ]
}

# start_time PID: when the process started, in clock ticks since the machine's start: pids are used again, this tells them apart.
start_time() {
  local stat
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  # The name in parentheses may have spaces: count from behind it.
  stat=${stat##*) }
  cut -d ' ' -f 20 <<<"$stat"
}

# write_pid FILE PID
write_pid() {
  echo "$2 $(start_time "$2")" >"$1"
}

# wait_for WHAT SECONDS COMMAND...: runs the command until it succeeds.
wait_for() {
  local what=$1 end=$((SECONDS + $2)) seconds=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || die "$what: not after $seconds s, see $cluster/log"
    sleep 0.3
  done
}

# module_folder FOLDER MODULE: where the module cache has the module that FOLDER/go.mod requires.
module_folder() {
  go mod download -C "$1" -json "$2" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'
}

# service_account NAME FILE: writes a kubeconfig with a token of the service account in the namespace yunikorn.
service_account() {
  local token
  token=$(kubectl -n yunikorn create token "$1" --duration 24h)
  (umask 077 && sed "s|^users:.*|users: [{name: admin, user: {token: $token}}]|" "$cluster/kubeconfig" >"$cluster/$2")
}
