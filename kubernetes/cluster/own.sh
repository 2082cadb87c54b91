#!/usr/bin/env bash
# own.sh [GO TEST FLAGS...]: end-to-end tests of what the suites of the shim do not look at (own): why a pod waits, a
# scheduler that is killed, a change from the original core to Canopy and back on a running cluster, faults, budgets and
# constraints, the manifests of deploy/kubernetes, and the shim of kubernetes/shim-grpc, which schedules beside that of YuniKorn.
#
# Canopy is built from this repository, or CANOPY_SCHEDULER names it. Logs stay in $CANOPY_CLUSTER/clusters/own/log.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:-} in -h | --help) usage ;; esac
[ "$(id -u)" = 0 ] || die "only root can give a control plane a network namespace of its own"
"$here/build.sh" control-plane original canopy own
cluster_folder own
cleanup() { "$here/down.sh" own >/dev/null 2>&1 || true; }
cleanup
trap cleanup EXIT
CANOPY_CLUSTER_BUILT=1 "$here/up.sh" own 2
cp -L "$work/bin/scheduler-canopy" "$cluster/scheduler"
"$here/scheduler.sh" own "$cluster/scheduler"
CANOPY_CLUSTER_FOLDER=$cluster CANOPY_CLUSTER_PROGRAMS=$work/bin CANOPY_MANIFESTS=$repository/deploy/kubernetes \
  "$here/ns.sh" own "$work/suites/own.test" -test.v -test.timeout 40m -test.failfast "$@"
