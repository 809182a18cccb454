#!/bin/sh
# Makes the bank's own scenarios in ../corpus/testdata: flink1-bank_rocksdb and flink2-bank_rescaled, which starts from a heap savepoint.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
run=/var/tmp/statebridge-corpus # stands in the snapshots' metadata
[ ! -e "$run" ] || { echo "$run is in the way" >&2; exit 1; }
trap 'rm -rf "$run"' EXIT

(cd "$here" && mvn -q -B -P flink1 package && mvn -q -B -P flink2 package)
small="--mode rounds --accounts 60 --carts 20 --operations 100"
# shellcheck disable=SC2086 # options
"$here/bank.sh" flink1 $small --dir "$run/bank_rocksdb" --rounds 4 --savepoint native --seed 11
# shellcheck disable=SC2086
"$here/bank.sh" flink2 $small --dir "$run/before" --backend hashmap --rounds 1 --savepoint canonical --seed 12
# shellcheck disable=SC2086
"$here/bank.sh" flink2 $small --dir "$run/bank_rescaled" --parallelism 3 --restore "$run"/before/savepoints/* --rounds 4 --savepoint canonical --seed 12

for scenario in flink1-bank_rocksdb flink2-bank_rescaled; do
	name=${scenario#*-}
	rm -rf "$run/$name/tmp"
	tar --create --directory "$run" --sort=name --format ustar --owner 0 --group 0 --numeric-owner --mode u+rw,go+r,go-w \
		--mtime '2026-01-01 00:00Z' "$name" | gzip -n -9 >"$here/../corpus/testdata/$scenario.tar.gz"
done
