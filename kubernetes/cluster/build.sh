#!/usr/bin/env bash
# build.sh PART...: builds what the end-to-end suites need, from the Go module proxy. What is there already stays.
#
#   control-plane   etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl of the Kubernetes that KUBERNETES names; kwok
#   original        the shim with the core of YuniKorn      (kubernetes/original)
#   canopy          the shim with Canopy as its core        (make kubernetes), or the program that CANOPY_SCHEDULER names
#   admission       the shim's admission controller         (kubernetes/original)
#   karpenter       Karpenter, with its provider of fake nodes
#   own             the tests of own.sh, the programs of versus.sh (own), canopy, and the shim of kubernetes/shim-grpc
#   report          the program that makes tables of results (tools/e2ereport)
#   SUITE           a suite of the shim: a directory of its test/e2e, like basic_scheduling
#
# KUBERNETES is 1.37, the default, or 1.35, the version that the shim's suites are run on: a folder kubernetes-VERSION has a go.mod
# for each. The programs are below $CANOPY_CLUSTER, by default ~/.cache/canopy-cluster. The first build of control-plane compiles much of
# Kubernetes: 15 to 40 minutes of two cores, 3 GB of build cache. GOFLAGS=-p=1 and nice make it gentle.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -gt 0 ] || usage
case $1 in -*) usage ;; esac
need_go
need_kubernetes
mkdir -p "$work"/{bin,stamps,suites}
go=$(go env GOVERSION)

# build NAME OUTPUT MODULE COMMAND...: runs the command in the module's folder, unless the output is that of the same command
# with the same versions of everything: go.mod, go.sum and Go itself.
build() {
  local name=$1 output=$2 folder=$3 stamp started=$SECONDS
  shift 3
  stamp=$({ echo "$go $*" && cat "$here/$folder/go.mod" "$here/$folder/go.sum" "$here/copy.sh"; } | sha256sum)
  if [ -x "$output" ] && [ "$(cat "$work/stamps/$name" 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  echo "building $name"
  (cd "$here/$folder" && "$@") || die "$name was not built"
  echo "$stamp" >"$work/stamps/$name"
  echo "built $name in $((SECONDS - started)) s"
}

# static FOLDER NAME MODULE PACKAGE [LDFLAGS]: a program without C libraries, below $work/FOLDER.
static() {
  mkdir -p "$work/$1"
  build "$1-$2" "$work/$1/$2" "$3" env CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w${5:-}" -o "$work/$1/$2" "$4"
}

control_plane() {
  local folder=kubernetes-$KUBERNETES program version major minor package flags=""
  version=$(go list -C "$here/$folder" -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${version#v}"
  # Otherwise the server calls itself v0.0.0-master, and clients complain.
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor -X $package.gitTreeState=clean"
  done
  static "$folder" etcd "$folder" go.etcd.io/etcd/server/v3
  for program in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
    static "$folder" $program "$folder" k8s.io/kubernetes/cmd/$program "$flags"
  done
  static bin kwok kwok sigs.k8s.io/kwok/cmd/kwok
}

canopy() {
  if [ -n "${CANOPY_SCHEDULER:-}" ]; then
    [ -x "$CANOPY_SCHEDULER" ] || die "CANOPY_SCHEDULER: $CANOPY_SCHEDULER is no program"
    ln -sf "$(realpath "$CANOPY_SCHEDULER")" "$work/bin/scheduler-canopy"
    return
  fi
  # Go's own cache knows whether anything changed.
  make --no-print-directory -C "$repository" kubernetes >"$work/make-kubernetes.log" 2>&1 ||
    die "make kubernetes failed: $(tail -3 "$work/make-kubernetes.log")"
  ln -sf "$repository/bin/canopy-kubernetes" "$work/bin/scheduler-canopy"
}

# suite NAME: copy.sh has the reason why the suites are built from a copy.
suite() {
  "$here/copy.sh" "$work/copy"
  [ -d "$work/copy/shim/test/e2e/$1" ] ||
    die "$1: neither a part nor a suite; the suites: $(cd "$work/copy/shim/test/e2e" && find . -name '*_suite_test.go' -printf '%h ' | sed 's|\./||g')"
  build "$1" "$work/suites/$1.test" ../original \
    go test -c -vet=off -ldflags "-s -w" -modfile "$work/copy/go.mod" -o "$work/suites/$1.test" "$module/test/e2e/$1"
}

for part; do
  case $part in
    control-plane) control_plane ;;
    original) build original "$work/bin/scheduler-original" ../original \
      go build -buildvcs=false -ldflags "-s -w" -o "$work/bin/scheduler-original" $module/pkg/cmd/shim ;;
    canopy) canopy ;;
    admission) build admission "$work/bin/admission-controller" ../original \
      go build -buildvcs=false -ldflags "-s -w" -o "$work/bin/admission-controller" "$module/pkg/cmd/admissioncontroller" ;;
    karpenter) GOTOOLCHAIN=$karpenter_go static bin karpenter karpenter sigs.k8s.io/karpenter/kwok ;;
    own)
      go test -C "$here/own" -c -o "$work/suites/own.test" .
      go build -C "$here/own" -buildvcs=false -o "$work/bin/" ./load ./share
      go build -C "$repository" -buildvcs=false -o "$work/bin/canopy" ./cmd/core
      go build -C "$repository/kubernetes/shim-grpc" -buildvcs=false -o "$work/bin/shim-grpc" .
      ;;
    report) go build -C "$repository/tools" -buildvcs=false -o "$work/bin/e2ereport" ./e2ereport ;;
    *) suite "$part" ;;
  esac
done
