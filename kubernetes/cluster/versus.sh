#!/usr/bin/env bash
# versus.sh [--runs N] [--nodes N] [--pods N] [--apps N] [--waiting N] [--idle SECONDS] [--profile SECONDS]: the
# shim with Canopy as its core beside the shim with YuniKorn's own, each on a fresh control plane, in turn.
#
#   --runs     of each, by default 3; the table has their median, least and greatest
#   --nodes    fake nodes of 32 CPU, by default 500
#   --pods     that are created at once, by default 2000, of --apps applications (20)
#   --profile  how long a profile of the CPU is taken while pods are bound, by default 20: the part of the core in the process
#   --waiting  pods that fit no node and wait afterwards, by default 500, while nothing happens for --idle seconds (60)
#
# Both have deploy/kubernetes/base/flow-control.yaml: without it most bindings and events are refused by the API server at first, and
# what is measured is how often the client tries again.
#
# A run prints a line of JSON: time until all pods are bound, latency of a pod, CPU seconds and peak memory of the scheduler's process.
# The lines are in $CANOPY_CLUSTER/results/versus.jsonl, the table in versus.md beside it. Nothing else should run meanwhile.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
runs=3 nodes=500 pods=2000 apps=20 waiting=500 idle=60 profile=20
while [ $# -gt 0 ]; do
  case $1 in
    --runs | --nodes | --pods | --apps | --waiting | --idle | --profile)
      [ $# -ge 2 ] || usage
      [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 $2: a number from 1"
      declare "${1#--}=$2"
      shift 2
      ;;
    *) usage ;;
  esac
done
[ "$(id -u)" = 0 ] || die "only root can give each control plane a network namespace of its own"
export CANOPY_CLUSTER_BUILT=1 CANOPY_DEBUG=true # profiles, as YuniKorn's core always has them
"$here/build.sh" control-plane own original canopy
mkdir -p "$work/results"
lines=$work/results/versus.jsonl
: >"$lines"
ticks=$(getconf CLK_TCK)
cleanup() { "$here/down.sh" versus >/dev/null 2>&1 || true; }
trap cleanup EXIT

# cpu: the CPU seconds of the scheduler so far.
cpu() {
  local stat pid
  read -r pid _ <"$cluster/run/scheduler.pid"
  stat=$(<"/proc/$pid/stat")
  # shellcheck disable=SC2086 # fields
  set -- ${stat##*) }
  awk -v t=$((${12} + ${13})) -v hz="$ticks" 'BEGIN { printf "%.2f\n", t / hz }'
}

# peak: the greatest resident memory of the scheduler so far, in MB.
peak() {
  local pid
  read -r pid _ <"$cluster/run/scheduler.pid"
  awk '/^VmHWM/ { printf "%.0f\n", $2 / 1024 }' "/proc/$pid/status"
}

run() {
  local core=$1 started loaded settled ended result profiling
  cluster_folder versus
  "$here/down.sh" versus >/dev/null 2>&1 || true
  "$here/up.sh" versus "$nodes" 32 256Gi >"$work/results/versus.up.log" 2>&1 || die "no control plane, see $work/results/versus.up.log"
  "$here/ns.sh" versus kubectl apply -f "$repository/deploy/kubernetes/base/flow-control.yaml" >>"$work/results/versus.up.log" 2>&1
  "$here/scheduler.sh" versus "$work/bin/scheduler-$core" >>"$work/results/versus.up.log" 2>&1 || die "no scheduler, see $work/results/versus.up.log"
  sleep 10
  started=$(cpu)
  "$here/ns.sh" versus curl -sf -o "$work/results/versus-$core.pprof" "http://127.0.0.1:9080/debug/pprof/profile?seconds=$profile" &
  profiling=$!
  result=$("$here/ns.sh" versus load -pods "$pods" -apps "$apps") || die "$core: not all pods were bound: $result"
  wait "$profiling" || die "$core: no profile"
  sleep 10 # until the scheduler has seen that all run
  loaded=$(cpu)
  "$here/ns.sh" versus load -pods "$waiting" -apps 1 -namespace waiting -cpu 1000 -wait 0 >/dev/null
  sleep 30
  settled=$(cpu)
  sleep "$idle"
  ended=$(cpu)
  jq -cn --arg core "$core" --argjson load "$result" --argjson cpu "$(awk "BEGIN { print $loaded - $started }")" \
    --argjson idle "$(awk "BEGIN { print ($ended - $settled) * 60 / $idle }")" --argjson peak "$(peak)" \
    --argjson share "$("$work/bin/share" "$work/results/versus-$core.pprof")" \
    '{core: $core, cpuSeconds: $cpu, percent: $share, idleCPUSecondsPerMinute: $idle, peakMB: $peak} + $load' | tee -a "$lines"
}

need jq jq
for ((i = 1; i <= runs; i++)); do
  for core in original canopy; do run "$core"; done
done

# The table: median (least to greatest) of each figure.
{
  echo "$pods pods of $apps applications on $nodes nodes, then $waiting that fit no node; $runs runs of each in turn."
  echo
  # shellcheck disable=SC2016 # of jq
  jq -rs '
    def two: . * 100 | round / 100;
    def figure(f): map(f) | sort | "\(.[(length - 1) / 2 | floor] | two) (\(.[0] | two) to \(.[-1] | two))";
    def row(name; f): "| \(name) | \(map(select(.core == "original")) | figure(f)) | \(map(select(.core == "canopy")) | figure(f)) |";
    "| | original | Canopy |", "|---|---:|---:|",
    row("CPU under load, s"; .cpuSeconds),
    row("the core, % of that"; .percent.core), row("the shim, %"; .percent.shim), row("the client of the API server, %"; .percent.client),
    row("the runtime, %"; .percent.runtime), row("the core, s"; .cpuSeconds * .percent.core / 100),
    row("CPU while nothing happens, s a minute"; .idleCPUSecondsPerMinute),
    row("peak memory, MB"; .peakMB), row("all pods bound after, s"; .boundSeconds),
    row("latency of a pod, median, s"; .medianSeconds), row("latency of a pod, 99th percentile, s"; .p99Seconds)
  ' "$lines"
} | tee "$work/results/versus.md"
