#!/usr/bin/env bash
# autoscaler.sh [--core canopy|original|both|native] [--measure | --gangs] [GO TEST FLAGS...]: end-to-end tests of a scheduler beside Karpenter,
# which adds and removes fake nodes.
#
#   --core     the core of YuniKorn's shim, by default canopy; native is the shim of kubernetes/shim-grpc. With both what fails
#              on the original alone is printed, and is no failure
#   --measure  measures a thousand pods, also with kube-scheduler, and ten minutes of consolidation, instead of the tests
#   --gangs    measures gangs on five nodes, without Karpenter, also with kube-scheduler
#
# Logs stay in $CANOPY_CLUSTER/clusters/autoscaler/log; what was measured is printed.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
core=canopy tests='^TestAutoscaler_' also="" nodes=0
while [ $# -gt 0 ]; do
  case $1 in
    --core)
      [ $# -ge 2 ] || usage
      core=$2
      shift 2
      ;;
    --measure)
      tests='^TestAutoscalerMeasure_' also=AThousandPods
      shift
      ;;
    --gangs)
      tests='^TestGangsMeasure_' also='^TestGangsMeasure_' nodes=5
      shift
      ;;
    -h | --help) usage ;;
    *) break ;;
  esac
done
case $core in
  canopy | original | native) cores=("$core") ;;
  both) cores=(canopy original) ;;
  *) usage ;;
esac
[ "$(id -u)" = 0 ] || die "only root can give a control plane a network namespace of its own"
"$here/build.sh" control-plane karpenter own "${cores[@]/native/canopy}"
cluster_folder autoscaler
cleanup() { "$here/down.sh" autoscaler >/dev/null 2>&1 || true; }
trap cleanup EXIT
export CANOPY_CLUSTER_BUILT=1
failed=0

# run CORE TESTS [FLAGS...]: on a fresh control plane. The scheduler of Kubernetes, and the native shim, are beside YuniKorn's shim.
run() {
  local core=$1 tests=$2 shim=$1 admin=127.0.0.1:9081
  shift 2
  [ "$core" != kube-scheduler ] || shim=${cores[0]/native/canopy}
  if [ "$core" = native ]; then shim=canopy admin=""; fi
  cleanup
  "$here/up.sh" autoscaler $nodes
  cp -L "$work/bin/scheduler-$shim" "$cluster/scheduler"
  CANOPY_ADMIN_ADDRESS=$admin "$here/scheduler.sh" autoscaler "$cluster/scheduler"
  if [ $nodes = 0 ]; then "$here/karpenter.sh" autoscaler; else export CANOPY_GANGS=1; fi
  if [ "$core" = kube-scheduler ]; then
    "$here/ns.sh" autoscaler setsid kube-scheduler --kubeconfig "$cluster/kubeconfig" --leader-elect=false --kube-api-qps 500 \
      --kube-api-burst 1000 --feature-gates "$workload_features" >"$cluster/log/kube-scheduler.log" 2>&1 </dev/null &
    write_pid "$cluster/run/kube-scheduler.pid" $!
    export CANOPY_AUTOSCALER_SCHEDULER=default-scheduler
  fi
  echo "autoscaler: $core"
  CANOPY_CLUSTER_FOLDER=$cluster CANOPY_CLUSTER_PROGRAMS=$work/bin CANOPY_AUTOSCALER_CORE=$core \
    CANOPY_MANIFESTS=$repository/deploy/kubernetes \
    "$here/ns.sh" autoscaler "$work/suites/own.test" -test.v -test.timeout 60m -test.run "$tests" "$@" && return
  if [ "${#cores[@]}" = 2 ] && [ "$core" = original ]; then
    echo "autoscaler: cases failed on the original"
  else
    failed=1
  fi
}

for core in "${cores[@]}"; do run "$core" "$tests" "$@"; done
[ -z "$also" ] || run kube-scheduler "$also" "$@"
exit $failed
