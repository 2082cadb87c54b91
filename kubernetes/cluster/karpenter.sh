#!/usr/bin/env bash
# karpenter.sh CLUSTER: runs Karpenter, with its provider of fake nodes, against a cluster of up.sh.
#
# The NodePool default has nodes of 4 and 16 CPU in four zones, at most 2,000 CPU, and removes what is empty for 5 s. karpenter.yaml
# is its manifest. The log is log/karpenter.log of the cluster.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:--} in -*) usage ;; esac
[ $# = 1 ] || usage
cluster_folder "$1"
name=$1
[ "${CANOPY_CLUSTER_NAMESPACE:-}" = "$cluster" ] || exec "$here/ns.sh" "$name" "$0" "$@"
[ -f "$cluster/kubeconfig" ] || die "$name has no control plane: $here/up.sh $name"
! running "$cluster/run/karpenter.pid" || die "$name has Karpenter: $here/down.sh $name ends it"

karpenter=$(GOTOOLCHAIN=$karpenter_go module_folder "$here/karpenter" sigs.k8s.io/karpenter)
kubectl apply --server-side -f "$karpenter/kwok/charts/crds" -f "$karpenter/kwok/apis/crds" >/dev/null
kubectl wait --for condition=Established --timeout 60s crd/nodepools.karpenter.sh crd/kwoknodeclasses.karpenter.kwok.sh >/dev/null
kubectl apply -f "$here/karpenter.yaml" >/dev/null
# A batch of pods ends after a second without another one, as by default.
SYSTEM_NAMESPACE=kube-system DISABLE_LEADER_ELECTION=true METRICS_PORT=8085 HEALTH_PROBE_PORT=8086 KARPENTER_SERVICE=karpenter \
  KUBECONFIG=$cluster/kubeconfig setsid "$work/bin/karpenter" >"$cluster/log/karpenter.log" 2>&1 </dev/null &
write_pid "$cluster/run/karpenter.pid" $!
wait_for karpenter 60 curl -sf http://127.0.0.1:8086/readyz
echo "$name: Karpenter is ready after $SECONDS s"
