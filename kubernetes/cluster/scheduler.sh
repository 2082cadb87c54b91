#!/usr/bin/env bash
# scheduler.sh CLUSTER PROGRAM: runs a YuniKorn scheduler against a cluster of up.sh, as its end-to-end suites expect to find it.
#
# The program runs outside of Kubernetes, with the roles that the shim's deployment files give it. A pod of the Deployment
# yunikorn-scheduler, on the fake node kit-control-plane, stands in for it: when that pod is replaced, or the program ends, the
# program is started again. Its log is log/scheduler.log of the cluster.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -ge 2 ] || usage
cluster_folder "$1"
name=$1
program=$(realpath "$2")
[ -x "$program" ] || die "$2 is no program"
[ "${CANOPY_CLUSTER_NAMESPACE:-}" = "$cluster" ] || exec "$here/ns.sh" "$name" "$0" "$@"
[ -f "$cluster/kubeconfig" ] || die "$name has no control plane: $here/up.sh $name"

stop() {
  [ -n "$pid" ] || return 0
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  pid=""
}

start() {
  KUBECONFIG=$cluster/scheduler.kubeconfig NAMESPACE=yunikorn "$program" >>"$cluster/log/scheduler.log" 2>&1 3<&- &
  pid=$!
  write_pid "$cluster/run/scheduler.pid" "$pid"
  echo "$(date +%T) scheduler $pid for pod $uid"
}

# supervise follows the stand-ins: a new one is one that has a new uid and is not being deleted.
supervise() {
  local line="" next deleted result
  uid="" pid="" watch=""
  trap 'stop; [ -z "$watch" ] || kill "$watch" 2>/dev/null; exit 0' TERM INT
  while :; do
    exec 3< <(exec kubectl -n yunikorn get pod -l component=yunikorn-scheduler -w \
      -o jsonpath='{.metadata.uid}{" "}{.metadata.deletionTimestamp}{"\n"}' 2>/dev/null)
    watch=$!
    while :; do
      result=0
      read -r -t 0.5 -u 3 line || result=$?
      if [ $result = 0 ]; then
        read -r next deleted <<<"$line" || true
        if [ -n "$next" ] && [ -z "$deleted" ] && [ "$next" != "$uid" ]; then
          uid=$next
          stop
          start
        fi
      elif [ $result -le 128 ]; then
        break # the watch has ended
      fi
      if [ -n "$uid" ] && ! kill -0 "$pid" 2>/dev/null; then
        echo "$(date +%T) scheduler $pid has ended"
        sleep 1
        start
      fi
    done
    sleep 0.5
  done
}
if [ "${3:-}" = --supervise ]; then
  supervise
fi
[ $# = 2 ] || usage
! running "$cluster/run/supervisor.pid" || die "$name has a scheduler: $here/down.sh $name ends it"
! (exec 3<>/dev/tcp/127.0.0.1/9080) 2>/dev/null || die "port 9080 is in use"

shim=$(module_folder "$here/../original" "$module")
kubectl create namespace yunikorn >/dev/null
# The admission controller has ConfigMaps checked by the scheduler. There is no DNS for the name of its service.
kubectl -n yunikorn create configmap yunikorn-defaults \
  --from-literal admissionController.webHook.schedulerServiceAddress=127.0.0.1:9080 >/dev/null
kubectl -n yunikorn create -f "$shim/deployments/scheduler/yunikorn-rbac.yaml" >/dev/null
service_account yunikorn-admin scheduler.kubeconfig
kubectl -n yunikorn create -f - >/dev/null <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: yunikorn-configs}
data:
  queues.yaml: |
    partitions:
      - name: default
        placementrules: [{name: tag, value: namespace, create: true}]
        queues: [{name: root, submitacl: '*'}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: yunikorn-scheduler, labels: {app: yunikorn}}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: yunikorn}}
  template:
    metadata:
      labels: {app: yunikorn, component: yunikorn-scheduler}
      annotations: {canopy/ready-after: 5s} # not Running before the program answers
    spec:
      nodeName: kit-control-plane
      tolerations: [{operator: Exists}]
      containers: [{name: yunikorn-scheduler-k8s, image: none, ports: [{containerPort: 9080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: yunikorn-service}
spec: {selector: {app: yunikorn}, ports: [{name: core, port: 9080}]}
YAML
: >"$cluster/log/scheduler.log"
setsid "$0" "$name" "$program" --supervise >"$cluster/log/supervisor.log" 2>&1 </dev/null &
write_pid "$cluster/run/supervisor.pid" $!
# The scheduler answers before it knows the nodes.
nodes=$(kubectl get nodes --no-headers | wc -l)
knows_nodes() { [ "$(curl -sf http://127.0.0.1:9080/ws/v1/partition/default/nodes | grep -o '"nodeID"' | wc -l)" = "$nodes" ]; }
wait_for "the nodes in the scheduler's REST" 120 knows_nodes
echo "$name: $(basename "$program") knows $nodes nodes after $SECONDS s"
