#!/usr/bin/env bash
# e2e.sh [--core canopy|original|both] [--jobs N] [--limit TIME] [--keep] [SUITE...]: runs end-to-end suites of the shim of YuniKorn
# against Canopy, and against YuniKorn's own core, each suite on a fresh control plane.
#
#   --core   which scheduler; by default canopy, of which specs in known.txt may fail
#   --jobs   how many suites run at the same time, by default 4: they mostly wait
#   --limit  of a suite, by default 30m; what has not run then counts as failed
#   --keep   leave the control planes of suites with failures running, to be looked at
#   SUITE    a directory of the shim's test/e2e; by default all that suites.txt lists
#
# The table is printed, and written to report.md and report.json in $CANOPY_CLUSTER/results, beside CORE/SUITE.log, the output of the
# suite; what the suite says about a failure and the logs of all programs are in $CANOPY_CLUSTER/clusters/CORE-SUITE. The exit code
# is 1 when a spec fails on Canopy that passes on the original.
export KUBERNETES=${KUBERNETES:-1.35} # the version that the shim is built for
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
core=canopy jobs=4 limit=30m keep=""
while [ $# -gt 0 ]; do
  case $1 in
    --core | --jobs | --limit)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$2"
      shift 2
      ;;
    --keep)
      keep=1
      shift
      ;;
    -*) usage ;;
    *) break ;;
  esac
done
case $core in
  canopy | original) cores=("$core") ;;
  both) cores=(original canopy) ;;
  *) usage ;;
esac
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "--jobs $jobs: a number of suites"
[[ $limit =~ ^[1-9][0-9]*[smh]$ ]] || die "--limit $limit: a time like 30m"
suites=("$@")
[ $# -gt 0 ] || mapfile -t suites < <(sed 's/#.*//; s/ //g; /^$/d' "$here/suites.txt")
[ "$(id -u)" = 0 ] || die "only root can give each control plane a network namespace of its own"
need ip iproute2
need openssl openssl
need curl curl
need git git
need timeout coreutils
"$here/build.sh" control-plane admission report "${cores[@]}" "${suites[@]}"
export CANOPY_CLUSTER_BUILT=1
results=$work/results
started=()

cleanup() {
  trap - EXIT INT TERM
  local job
  # Each job is a process group, because of set -m: the suite ends with it.
  {
    for job in $(jobs -p); do kill -- "-$job" || true; done
    wait || true
  } 2>/dev/null
  [ ${#started[@]} = 0 ] || [ -n "$keep" ] || "$here/down.sh" "${started[@]}"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

say() { echo "$(date +%T) $*"; }

# suite_in CORE SUITE: a control plane, a scheduler, the suite. The folder of the cluster is a git repository, because the suites
# write what they find at a failure below the root of the repository that they are in.
suite_in() {
  local core=$1 suite=$2 name=$1-$2 seconds=$SECONDS result=0 cluster
  cluster_folder "$name"
  rm -rf "$cluster/suite" "$cluster/build" "$cluster/results"
  mkdir -p "$cluster/suite/$suite" "$results/$core"
  ln -sfn "$work/copy/shim/test/e2e/testdata" "$cluster/suite/testdata"
  [ -d "$cluster/.git" ] || git init -q "$cluster"
  rm -f "$results/$core/$suite".*
  {
    "$here/down.sh" "$name" && "$here/up.sh" "$name" &&
      "$here/scheduler.sh" "$name" "$work/bin/scheduler-$core" &&
      "$here/admission.sh" "$name"
  } >"$results/$core/$suite.start.log" 2>&1 || {
    say "$core $suite: no control plane: $(tail -1 "$results/$core/$suite.start.log")"
    return
  }
  say "$core $suite: started, control plane and scheduler took $((SECONDS - seconds)) s"
  sleep 3
  seconds=$SECONDS
  (cd "$cluster/suite/$suite" && exec timeout --foreground --kill-after 1m "$(($(in_seconds) + 120))" "$here/ns.sh" "$name" "$work/suites/$suite.test" \
    -test.timeout 0 -ginkgo.timeout "$limit" -ginkgo.v -ginkgo.no-color -ginkgo.json-report "$results/$core/$suite.json" \
    -yk-namespace yunikorn -kube-config "$cluster/kubeconfig" -log-dir "$cluster/results") >"$results/$core/$suite.log" 2>&1 || result=$?
  # Ginkgo's last line with counts.
  say "$core $suite: $(grep -a -E '^(FAIL!|SUCCESS!)' "$results/$core/$suite.log" | tail -1 || true) $((SECONDS - seconds)) s"
  if [ $result = 0 ] || [ -z "$keep" ]; then "$here/down.sh" "$name"; fi
}

in_seconds() {
  case $limit in
    *s) echo "${limit%s}" ;;
    *m) echo $((${limit%m} * 60)) ;;
    *h) echo $((${limit%h} * 3600)) ;;
  esac
}

# progress says each minute which suites run, and how many of their specs have ended.
progress() {
  local f text
  while sleep 60; do
    text=""
    for f in "$results"/*/*.log; do
      [[ $f == *.start.log ]] || [ ! -e "$f" ] || [ -e "${f%.log}.json" ] || [ "$f" -ot "$results/start" ] ||
        text+="; $(basename "$(dirname "$f")") $(basename "$f" .log): $(grep -a -c -E '^(• |S )' "$f" || true) specs"
    done
    [ -z "$text" ] || say "running${text/;/:}"
  done
}

mkdir -p "$results"
touch "$results/start"
say "${#suites[@]} suites with ${cores[*]}, $jobs at a time"
set -m
progress &
for core in "${cores[@]}"; do
  for suite in "${suites[@]}"; do
    # The progress is a job, too.
    while [ "$(jobs -pr | wc -l)" -gt "$jobs" ]; do wait -n || true; done
    started+=("$core-$suite")
    suite_in "$core" "$suite" &
  done
done
while [ "$(jobs -pr | wc -l)" -gt 1 ]; do wait -n || true; done
IFS=,
"$work/bin/e2ereport" -results "$results" -known "$here/known.txt" -cores "${cores[*]}" "${suites[@]}"
