#!/usr/bin/env bash
# copy.sh FOLDER: copies the shim of kubernetes/original from the module cache to FOLDER/shim, with a change for its end-to-end
# suites, and writes FOLDER/go.mod and go.sum, which build that copy: go -C kubernetes/original test -modfile FOLDER/go.mod
#
# One change: PortForwardYkSchedulerPod does nothing. The scheduler listens on port 9080 where the suites run, so that nothing is
# to be forwarded; and a forward through kwok does not notice that the process behind it was restarted. (The module cache is
# not to be changed, and go test refuses an overlay of it.)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# = 1 ] || usage
mkdir -p "$1"
folder=$(cd "$1" && pwd)
original=$(cd "$here/../original" && pwd)
source=$(module_folder "$original" "$module")
stamp=$(sha256sum "$original/go.mod" "$original/go.sum" "$here/copy.sh" | sha256sum)
[ "$(cat "$folder/stamp" 2>/dev/null)" != "$stamp" ] || exit 0
rm -rf "$folder/shim" "$folder/stamp"
cp -r "$source" "$folder/shim"
chmod -R u+w "$folder/shim"
helper=test/e2e/framework/helpers/k8s/k8s_utils.go
awk '{ print }
  /^func \(k \*KubeCtl\) PortForwardYkSchedulerPod\(\) error \{$/ { print "\treturn nil"; n++ }
  END { exit n != 1 }' "$source/$helper" >"$folder/shim/$helper" ||
  die "$source/$helper: PortForwardYkSchedulerPod was not found: another version of the shim?"
cp "$original/go.mod" "$original/go.sum" "$folder/"
go mod edit -replace "$module=$folder/shim" "$folder/go.mod"
echo "$stamp" >"$folder/stamp"
