#!/bin/sh
# Makes the snapshots that `statebridge demo` ships, cmd/statebridge/demodata/bank.tar.gz, and the rows that each must hold.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../../cmd/statebridge/demodata
run=/var/tmp/statebridge-demo # stands in the snapshots' metadata; who unpacks them elsewhere has moved them, as users do
[ ! -e "$run" ] || { echo "$run is in the way" >&2; exit 1; }
trap 'rm -rf "$run"' EXIT

(cd "$here" && mvn -q -B -P flink2 package)
"$here/bank.sh" flink2 --mode rounds --dir "$run" --job-id 5a7eb21d9e00000000000000000000ba \
	--seed 7 --accounts 40 --carts 12 --nulls false --rounds 5 --operations 60 --parallelism 2 --max-parallelism 128

# Flink 2.3 takes an empty checkpoint right at the start.
rm -r "$run"/checkpoints/*/chk-1
# In the order in which the job wrote them: what a checkpoint brought stands before its _metadata.
cd "$run/checkpoints"
find . -type f -printf '%T@ %P\n' | sort -n | cut -d' ' -f2 >"$run/order"
tar --create --no-recursion --files-from "$run/order" --format ustar \
	--owner 0 --group 0 --numeric-owner --mode 644 --mtime '2026-01-01 00:00Z' | gzip -n -9 >"$data/bank.tar.gz"
rm -f "$data"/testdata/chk-*.jsonl
for chk in */chk-*; do
	name=$(basename "$chk")
	gunzip -c "$run/expected/$name.jsonl.gz" >"$data/testdata/$name.jsonl"
done
ls -l "$data/bank.tar.gz" "$data/testdata"
