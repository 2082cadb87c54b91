#!/usr/bin/env bash
# admission.sh CLUSTER: runs the shim's admission controller beside a scheduler of scheduler.sh, with the roles of its deployment files.
#
# It is a process, as the scheduler is. kube-apiserver reaches it through a Service without a selector, whose only endpoint is an
# address of the namespace's loopback device: endpoints in 127.0.0.0/8 are refused. Its log is log/admission.log of the cluster.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# = 1 ] || usage
cluster_folder "$1"
name=$1
[ "${CANOPY_CLUSTER_NAMESPACE:-}" = "$cluster" ] || exec "$here/ns.sh" "$name" "$0" "$@"
running "$cluster/run/supervisor.pid" || die "$name has no scheduler: $here/scheduler.sh $name PROGRAM"
! running "$cluster/run/admission.pid" || die "$name has an admission controller: $here/down.sh $name ends it"

files=$(module_folder "$here/../original" "$module")/deployments/scheduler
kubectl -n yunikorn create -f "$files/admission-controller-rbac.yaml" -f "$files/admission-controller-secrets.yaml" >/dev/null
kubectl -n yunikorn create -f - >/dev/null <<YAML
apiVersion: v1
kind: Service
metadata: {name: yunikorn-admission-controller-service}
spec: {ports: [{name: webhook, port: 443, targetPort: 9089}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: yunikorn-admission-controller-service
  labels: {kubernetes.io/service-name: yunikorn-admission-controller-service}
addressType: IPv4
endpoints: [{addresses: [$address], conditions: {ready: true}}]
ports: [{name: webhook, port: 9089, protocol: TCP}]
YAML
service_account yunikorn-admission-controller admission.kubeconfig
KUBECONFIG=$cluster/admission.kubeconfig NAMESPACE=yunikorn setsid "$work/bin/admission-controller" >"$cluster/log/admission.log" 2>&1 </dev/null &
write_pid "$cluster/run/admission.pid" $!
# A pod that is not kept: the controller names the scheduler of pods.
mutates() {
  [ "$(kubectl -n default create --dry-run=server -o jsonpath='{.spec.schedulerName}' -f - <<<'{"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "none"}]}}')" = yunikorn ]
}
wait_for "the admission controller" 60 mutates
echo "$name: the admission controller answers after $SECONDS s"
