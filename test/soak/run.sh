#!/usr/bin/env bash
# A soak: a server that records is driven over gRPC by one replay of a synthetic trace after the other, as fast as it goes, for
# SOAK; while they run the configuration is reloaded again and again. Then canopy-lab recording play must make the same effects from the
# recording, with nothing missing in it.
#
#   test/soak/run.sh CANOPY LAB
#
# CANOPY is the program, LAB canopy-lab. SOAK is how long the server is driven, such as 90s or 10m; default 10m. Prints what was replayed. The exit
# code is 0 when every effect is the same, and 1 otherwise.
set -euo pipefail

canopy=$(realpath "$1")
lab=$(realpath "$2")
config=$(realpath "$(dirname "$0")/../../examples/openb.yaml")
duration=${SOAK:-10m}
dir=$(mktemp -d)
server=
reloads=
cleanup() {
	[ -z "$reloads" ] || kill "$reloads" 2>/dev/null || true
	[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT

die() {
	echo "soak: $*" >&2
	tail -n 5 "$dir/log" >&2 || true
	exit 1
}

seconds() {
	case $1 in
	*m) echo $((${1%m} * 60)) ;;
	*s) echo "${1%s}" ;;
	*) die "SOAK is $1, and must be a number of minutes or seconds, such as 10m or 90s" ;;
	esac
}

wanted=$(seconds "$duration")
cp "$config" "$dir/queues.yaml"
"$canopy" serve --config "$dir/queues.yaml" --grpc-address 127.0.0.1:0 --http-address 127.0.0.1:0 --record "$dir/recording" >"$dir/ready" 2>"$dir/log" &
server=$!
for _ in $(seq 100); do
	address=$(sed -n 's/.*grpc=\([^ ]*\).*/\1/p' "$dir/ready")
	[ -z "$address" ] || break
	kill -0 "$server" 2>/dev/null || die "the server has ended"
	sleep 0.1
done
[ -n "$address" ] || die "the server is not ready"

(
	n=0
	while sleep 2; do
		n=$((n + 1))
		{ cat "$config" && echo "# reload $n"; } >"$dir/next" && mv "$dir/next" "$dir/queues.yaml"
	done
) &
reloads=$!

rounds=0
start=$SECONDS
while [ $((SECONDS - start)) -lt "$wanted" ]; do
	rounds=$((rounds + 1))
	mode=$(printf 'fill\nlifetimes\ndurations\n' | sed -n "$((rounds % 3 + 1))p")
	"$lab" trace-synth --nodes 200 --tasks 20000 --seed "$rounds" --out-nodes "$dir/nodes.csv" --out-pods "$dir/pods.csv" >/dev/null
	"$lab" replay --address "$address" --nodes "$dir/nodes.csv" --pods "$dir/pods.csv" --mode "$mode" >"$dir/replay" 2>&1 || {
		cat "$dir/replay" >&2
		die "round $rounds, $mode, has failed"
	}
	[ $((rounds % 10)) -ne 1 ] || echo "soak: round $rounds, $mode, after $((SECONDS - start)) s"
done
cpu=$(awk '{ print $14 + $15 }' "/proc/$server/stat")
kill "$reloads"
reloads=
kill -INT "$server"
wait "$server" || die "the server did not end in good order"
server=
echo "soak: $rounds replays in $((SECONDS - start)) s, $((cpu / $(getconf CLK_TCK))) s of CPU, $(du -sm "$dir/recording" | cut -f 1) MB recorded"
"$lab" recording play "$dir/recording" | tee "$dir/played"
grep -q '^  equal: [1-9]' "$dir/played" || die "nothing was compared"
! grep -q 'steps are missing' "$dir/played" || die "steps are missing"
