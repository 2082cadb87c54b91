#!/usr/bin/env bash
# autoscaler.sh [--core canopy|original|both] [--measure] [GO TEST FLAGS...]: end-to-end tests of a scheduler beside Karpenter, which adds
# and removes fake nodes.
#
#   --core     the core of YuniKorn's shim, by default canopy
#   --measure  measures a thousand pods, also with kube-scheduler, and ten minutes of consolidation, instead of the tests
#
# Logs stay in $CANOPY_CLUSTER/clusters/autoscaler/log; what was measured is printed.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
core=canopy measure=""
while [ $# -gt 0 ]; do
  case $1 in
    --core)
      [ $# -ge 2 ] || usage
      core=$2
      shift 2
      ;;
    --measure)
      measure=1
      shift
      ;;
    -h | --help) usage ;;
    *) break ;;
  esac
done
case $core in
  canopy | original) cores=("$core") ;;
  both) cores=(canopy original) ;;
  *) usage ;;
esac
tests='^TestAutoscaler_'
[ -z "$measure" ] || tests='^TestAutoscalerMeasure_'
[ "$(id -u)" = 0 ] || die "only root can give a control plane a network namespace of its own"
"$here/build.sh" control-plane karpenter own "${cores[@]}"
cluster_folder autoscaler
cleanup() { "$here/down.sh" autoscaler >/dev/null 2>&1 || true; }
trap cleanup EXIT
export CANOPY_CLUSTER_BUILT=1

# run CORE TESTS [FLAGS...]: on a fresh control plane; the core kube-scheduler has the scheduler of Kubernetes beside the shim.
run() {
  local core=$1 tests=$2 shim=$1
  shift 2
  [ "$core" != kube-scheduler ] || shim=${cores[0]}
  cleanup
  "$here/up.sh" autoscaler 0
  cp -L "$work/bin/scheduler-$shim" "$cluster/scheduler"
  CANOPY_ADMIN_ADDRESS=127.0.0.1:9081 "$here/scheduler.sh" autoscaler "$cluster/scheduler"
  "$here/karpenter.sh" autoscaler
  if [ "$core" = kube-scheduler ]; then
    "$here/ns.sh" autoscaler setsid kube-scheduler --kubeconfig "$cluster/kubeconfig" --leader-elect=false --kube-api-qps 500 \
      --kube-api-burst 1000 --feature-gates "$workload_features" >"$cluster/log/kube-scheduler.log" 2>&1 </dev/null &
    export CANOPY_AUTOSCALER_SCHEDULER=default-scheduler
  fi
  echo "autoscaler: $core"
  CANOPY_CLUSTER_FOLDER=$cluster CANOPY_CLUSTER_PROGRAMS=$work/bin CANOPY_AUTOSCALER_CORE=$core \
    "$here/ns.sh" autoscaler "$work/suites/own.test" -test.v -test.timeout 60m -test.run "$tests" "$@"
}

for core in "${cores[@]}"; do run "$core" "$tests" "$@"; done
[ -z "$measure" ] || run kube-scheduler AThousandPods "$@"
