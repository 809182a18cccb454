#!/bin/sh
# Makes the bank's own scenarios in ../corpus/testdata. Each of their names begins with the line of Flink.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
run=/var/tmp/statebridge-corpus # stands in the snapshots' metadata
[ ! -e "$run" ] || { echo "$run is in the way" >&2; exit 1; }
trap 'rm -rf "$run"' EXIT

(cd "$here" && mvn -q -B -P flink1 package && mvn -q -B -P flink2 package)

# make LINE NAME [--name value]...: one run; its folder is packed as LINE-NAME.
make() {
	line=$1 name=$2
	shift 2
	"$here/bank.sh" "$line" --mode rounds --dir "$run/$name" --operations 100 --carts 20 "$@"
	rm -rf "$run/$name/tmp"
	tar --create --directory "$run" --sort=name --format ustar --owner 0 --group 0 --numeric-owner --mode u+rw,go+r,go-w \
		--mtime '2026-01-01 00:00Z' "$name" | gzip -n -9 >"$here/../corpus/testdata/$line-$name.tar.gz"
}

make flink1 bank_rocksdb --accounts 60 --rounds 4 --savepoint native --seed 11

# Restored from a heap savepoint, and from there with another parallelism. Flink itself fails to write a null in a map into a canonical
# savepoint of the heap backend, so there are none.
"$here/bank.sh" flink2 --mode rounds --dir "$run/before" --operations 100 --carts 20 --accounts 60 --backend hashmap --rounds 1 --savepoint canonical --nulls false --seed 12
make flink2 bank_rescaled --accounts 60 --rounds 4 --parallelism 3 --restore "$run"/before/savepoints/* --savepoint canonical --nulls false --seed 12

# One byte of key group up to 128 of them, two from 129 on.
make flink2 bank_maxpar129 --accounts 40 --rounds 2 --max-parallelism 129 --savepoint canonical --seed 13
make flink1 bank_maxpar32768 --accounts 40 --rounds 2 --max-parallelism 32768 --backend hashmap --savepoint native --seed 14

# Fewer keys than subtasks, all state in _metadata.
make flink2 bank_few --accounts 3 --carts 2 --rounds 3 --parallelism 8 --inline 1mb --savepoint canonical --seed 15
make flink1 bank_few --accounts 3 --carts 2 --rounds 3 --parallelism 8 --inline 1mb --backend hashmap --savepoint canonical --nulls false --seed 15
