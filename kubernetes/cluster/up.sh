#!/usr/bin/env bash
# up.sh CLUSTER [NODES [CPU MEMORY PODS]]: starts a control plane in a network namespace of its own, with fake nodes.
#
# etcd, kube-apiserver, kube-controller-manager and kwok run on loopback. Nodes are worker-0 and so on, by default 2 with 8 CPU,
# 16Gi and 110 pods, and kit-control-plane, which is tainted. Keys, data and logs are below $CANOPY_CLUSTER/clusters/CLUSTER;
# data of an earlier run are removed. Then: ns.sh CLUSTER kubectl get nodes; at the end: down.sh CLUSTER.
#
#   KUBERNETES            the version, 1.37 or 1.35, by default 1.37
#   CLUSTER_PORT          the first of 6 ports, by default 16440
#   CLUSTER_AUTHORIZE     RBAC, the default, or AlwaysAllow
#   CANOPY_CLUSTER_BUILT  not empty: build.sh has run, and is not asked again
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:--} in -*) usage ;; esac
[ $# -le 5 ] || usage
cluster_folder "$1"
name=$1 nodes=${2:-2} cpu=${3:-8} memory=${4:-16Gi} pods=${5:-110} port=${CLUSTER_PORT:-16440}
need_kubernetes
[[ $nodes =~ ^[0-9]+$ ]] || die "$nodes is no number of nodes"
if [ "${CANOPY_CLUSTER_NAMESPACE:-}" != "$cluster" ]; then
  need openssl openssl
  need curl curl
  need setsid util-linux
  [ -n "${CANOPY_CLUSTER_BUILT:-}" ] || "$here/build.sh" control-plane
  exec "$here/ns.sh" "$name" "$0" "$@"
fi

mkdir -p "$cluster"/{pki,log,run,etcd}
cd "$cluster"
for f in run/*.pid; do
  [ "$f" = run/namespace.pid ] || ! running "$f" || die "$name is running: $here/down.sh $name ends it"
done
for ((p = port; p < port + 6; p++)); do
  ! (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || die "port $p is in use; CLUSTER_PORT chooses another"
done
rm -rf etcd/* log/*

# certificate NAME SUBJECT EXTENSIONS
certificate() {
  openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "pki/$1.key" -out "pki/$1.csr"
  openssl x509 -req -days 3650 -in "pki/$1.csr" -CA pki/ca.crt -CAkey pki/ca.key -CAcreateserial \
    -extfile <(printf '%s\n' "$3") -out "pki/$1.crt"
}

keys() {
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=canopy-cluster-ca -keyout pki/ca.key -out pki/ca.crt
  certificate apiserver /CN=kube-apiserver "subjectAltName=IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc"
  certificate kubelet /CN=kubelet "subjectAltName=IP:127.0.0.1,DNS:localhost"
  openssl genrsa -out pki/sa.key 2048
  openssl rsa -in pki/sa.key -pubout -out pki/sa.pub
  # The name is the one that a suite lets set the users of pods.
  certificate kubernetes-admin /O=system:masters/CN=kubernetes-admin "extendedKeyUsage=clientAuth"
}
[ -s pki/kubernetes-admin.crt ] || (umask 077 && keys) >log/openssl.log 2>&1 || die "openssl failed, see $cluster/log/openssl.log"

(umask 077 && cat >kubeconfig) <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$port", certificate-authority-data: $(base64 -w0 pki/ca.crt)}}]
users: [{name: admin, user: {client-certificate-data: $(base64 -w0 pki/kubernetes-admin.crt), client-key-data: $(base64 -w0 pki/kubernetes-admin.key)}}]
contexts: [{name: c, context: {cluster: c, user: admin}}]
current-context: c
YAML
echo "export KUBECONFIG='$cluster/kubeconfig' PATH=\"$work/kubernetes-$KUBERNETES:$work/bin:\$PATH\"" >./env
# shellcheck source=/dev/null
. ./env

# start NAME COMMAND...
start() {
  local what=$1
  shift
  setsid "$@" >"log/$what.log" 2>&1 </dev/null &
  write_pid "run/$what.pid" $!
}

# The API of workloads and pod groups is off by default.
gates=() versions=()
if [ "$KUBERNETES" != 1.35 ]; then
  gates=(--feature-gates "$workload_features") versions=(--runtime-config scheduling.k8s.io/v1beta1=true)
fi
client=http://127.0.0.1:$((port + 1)) peer=http://127.0.0.1:$((port + 2))
# Without a port of its own for HTTP, etcd multiplexes it with gRPC, and the server's watches lag.
start etcd etcd --name c --data-dir "$cluster/etcd" --listen-client-http-urls "http://127.0.0.1:$((port + 5))" \
  --listen-client-urls "$client" --advertise-client-urls "$client" --listen-peer-urls "$peer" \
  --initial-advertise-peer-urls "$peer" --initial-cluster "c=$peer" --unsafe-no-fsync --log-level warn
start kube-apiserver kube-apiserver --etcd-servers "$client" --bind-address 127.0.0.1 --secure-port "$port" \
  --advertise-address 127.0.0.1 --endpoint-reconciler-type none --service-cluster-ip-range 10.96.0.0/16 \
  --tls-cert-file pki/apiserver.crt --tls-private-key-file pki/apiserver.key --client-ca-file pki/ca.crt \
  --kubelet-client-certificate pki/kubernetes-admin.crt --kubelet-client-key pki/kubernetes-admin.key --kubelet-preferred-address-types InternalIP \
  --service-account-issuer https://kubernetes.default.svc --service-account-key-file pki/sa.pub \
  --service-account-signing-key-file pki/sa.key --authorization-mode "${CLUSTER_AUTHORIZE:-RBAC}" \
  --enable-aggregator-routing --allow-privileged --profiling=false "${gates[@]}" "${versions[@]}"
wait_for kube-apiserver 240 kubectl get --raw /readyz
# kwok renews the lease of a node each 50 s. After as long the controller manager would take the node for dead, and mark its pods as not
# ready, which kwok does not undo.
start kube-controller-manager kube-controller-manager --kubeconfig kubeconfig --secure-port $((port + 3)) \
  --bind-address 127.0.0.1 --leader-elect=false --service-account-private-key-file pki/sa.key --root-ca-file pki/ca.crt \
  --use-service-account-credentials --node-monitor-grace-period 4m --kube-api-qps 500 --kube-api-burst 1000 --concurrent-job-syncs 20 \
  --concurrent-gc-syncs 20 --profiling=false "${gates[@]}"

kwok=$(module_folder "$here/kwok" sigs.k8s.io/kwok)
{
  cat "$here/kwok-options.yaml"
  for f in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready; do
    echo ---
    # kwok's own stages. A pod is Running at once, or after its annotation canopy/ready-after.
    sed '/name: pod-ready/,$ s|^  next:|  delay: {durationMilliseconds: 0, durationFrom: {expressionFrom: ".metadata.annotations[\\"canopy/ready-after\\"]"}}\n  next:|' \
      "$kwok/kustomize/stage/$f.yaml"
    echo
  done
  cat "$here/stages.yaml"
} >kwok.yaml
start kwok kwok --config "$cluster/kwok.yaml" --kubeconfig kubeconfig --manage-all-nodes --cidr 10.64.0.0/12 \
  --node-ip 127.0.0.1 --node-port $((port + 4)) --server-address "127.0.0.1:$((port + 4))" \
  --tls-cert-file pki/kubelet.crt --tls-private-key-file pki/kubelet.key
wait_for kube-controller-manager 120 kubectl -n default get serviceaccount default

# node NAME CPU MEMORY PODS LABELS TAINTS. A suite skips a spec when no node has huge pages.
node() {
  cat <<YAML
---
apiVersion: v1
kind: Node
metadata:
  name: $1
  labels: {kubernetes.io/hostname: $1, kubernetes.io/os: linux, kubernetes.io/arch: amd64$5}
spec: {taints: [$6]}
status:
  allocatable: &resources {cpu: "$2", memory: $3, pods: "$4", ephemeral-storage: 100Gi, hugepages-2Mi: 1Gi}
  capacity: *resources
YAML
}
{
  node kit-control-plane 16 32Gi 110 ', node-role.kubernetes.io/control-plane: ""' '{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}'
  for ((i = 0; i < nodes; i++)); do node "worker-$i" "$cpu" "$memory" "$pods" "" ""; done
} | kubectl create --validate=false -f - >/dev/null
all_ready() { [ "$(kubectl get nodes --no-headers | grep -cw Ready)" = $((nodes + 1)) ]; }
wait_for "all nodes" 120 all_ready
echo "$name: Kubernetes with $nodes nodes after $SECONDS s"
