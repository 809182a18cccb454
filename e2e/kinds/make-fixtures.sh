#!/bin/sh
# Makes the fixtures that come of these jobs: scenarios in ../corpus/testdata, and archives in ../../checkpoint/fixture.
# make-fixtures.sh 'flink1-ttl_*' makes those that the pattern matches.
set -eu
only=${1:-*}
here=$(cd "$(dirname "$0")" && pwd)
run=/var/tmp/statebridge-kinds # stands in the snapshots' metadata
[ ! -e "$run" ] || { echo "$run is in the way" >&2; exit 1; }
trap 'rm -rf "$run"' EXIT

(cd "$here" && mvn -q -B -P flink1 package && mvn -q -B -P flink2 package)
(cd "$here/../.." && go build -o "$run/bin/statebridge" ./cmd/statebridge)

wanted() {
	# shellcheck disable=SC2254 # a pattern
	case $1 in $only) ;; *) return 1 ;; esac
}

# snapshots NAME: the paths of a scenario's
snapshots() {
	sed -n 's/.*"path":"\([^"]*\)".*/\1/p' "$run/$1/scenario.json"
}

# pack ARCHIVE FOLDER...: what is below $run
pack() {
	archive=$1
	shift
	(cd "$run" && find "$@" -name tmp -prune -exec rm -rf {} +)
	tar --create --directory "$run" --sort=name --format ustar --owner 0 --group 0 --numeric-owner --mode u+rw,go+r,go-w \
		--mtime '2026-01-01 00:00Z' "$@" | gzip -n -9 >"$archive"
}

# corpus LINE SCENARIO BACKEND NAME
corpus() {
	wanted "$1-$4" || return 0
	"$here/run.sh" "$1" "$2" "$3" "$run/$4"
	pack "$here/../corpus/testdata/$1-$4.tar.gz" "$4"
	rm -rf "${run:?}/$4"
}

# sql LINE SCENARIO BACKEND NAME: there is no fold of so many queries, so the rows are those that statebridge reads, to be read against the queries
sql() {
	wanted "$1-$4" || return 0
	"$here/run.sh" "$1" "$2" "$3" "$run/$4"
	n=0
	for snapshot in $(snapshots "$4"); do
		n=$((n + 1))
		"$run/bin/statebridge" export "$run/$4/$snapshot" --output jsonl | gzip -n -9 >"$run/$4/expected/$n.jsonl.gz"
	done
	[ "$1" = flink1 ] || rm -rf "$run/$4"/checkpoints/*/chk-1 # Flink 2 takes one at the start of a job
	pack "$here/../corpus/testdata/$1-$4.tar.gz" "$4"
	rm -rf "${run:?}/$4"
}

# corners LINE SCENARIO BACKEND NAME [OPERATOR...]: the operators' rows are those that statebridge reads; the others are known
corners() {
	wanted "$1-$4" || return 0
	name=$4
	"$here/run.sh" "$1" "$2" "$3" "$run/$name"
	archive=$here/../corpus/testdata/$1-$name.tar.gz
	shift 4
	n=0
	for snapshot in $(snapshots "$name"); do
		n=$((n + 1))
		for operator in sessions evicted counted continuous all pattern both ruled lists "$@"; do
			"$run/bin/statebridge" export "$run/$name/$snapshot" --operator "$operator" --output jsonl | gzip -n -9 >>"$run/$name/expected/$n.jsonl.gz"
		done
	done
	pack "$archive" "$name"
	rm -rf "${run:?}/$name"
}

for line in flink1 flink2; do
	sql $line sql hashmap sql_heap
	sql $line sql-more hashmap sql_more_heap
	corpus $line values rocksdb values_rocksdb
	corpus $line avro rocksdb avro_rocksdb
	corpus $line kryo rocksdb kryo_rocksdb
	corpus $line registered rocksdb registered_rocksdb
	corpus $line kryo hashmap kryo_heap
	corpus $line rescale-claim rocksdb rescaled_claim_rocksdb
	corpus $line emptied rocksdb emptied_rocksdb
	corpus $line emptied hashmap emptied_heap
	corpus $line ttl rocksdb ttl_rocksdb
	corpus $line ttl hashmap ttl_heap
	corpus $line unregistered rocksdb unregistered_rocksdb
	corners $line corners-merged rocksdb corners_merged_rocksdb
done
corners flink1 corners hashmap corners_heap
corners flink1 corners hashmap+changelog corners_changelog_heap
corners flink2 corners rocksdb corners_rocksdb
corners flink2 corners rocksdb+changelog corners_changelog_rocksdb
corners flink2 corners-async forst corners_async_forst later
corpus flink2 rescale rocksdb rescaled_rocksdb
corpus flink2 rescale forst rescaled_forst
corpus flink2 restore-claim forst restored_forst

if wanted finished; then
	for version in 1.20:flink1 2.3:flink2; do
		for variant in aligned:finished unaligned:finished-unaligned half:finished-half; do
			"$here/run.sh" "${version#*:}" "${variant#*:}" rocksdb "$run/${version%:*}-${variant%:*}"
		done
	done
	pack "$here/../../checkpoint/fixture/finished.tar.gz" 1.20-aligned 1.20-half 1.20-unaligned 2.3-aligned 2.3-half 2.3-unaligned
fi
if wanted entropy; then
	"$here/run.sh" flink1 entropy rocksdb "$run/1.20"
	"$here/run.sh" flink2 entropy rocksdb "$run/2.3"
	pack "$here/../../checkpoint/fixture/entropy.tar.gz" 1.20 2.3
fi
wanted s3 || exit 0

# The directory of a bucket is the run's, so that one archive has both. Flink 2 takes a checkpoint right at the start, which goes.
mkdir -p "$run/s3/flink" "$run/sidecar" "$run/plugins/s3"
mvn -q -B -f "$here/pom.xml" -P flink2 dependency:copy -Dartifact=org.apache.flink:flink-s3-fs-presto:2.3.0 -DoutputDirectory="$run/plugins/s3"
versitygw --access test-key --secret test-secret --port 127.0.0.1:17370 --quiet --keep-alive posix --sidecar "$run/sidecar" "$run/s3" &
server=$!
trap 'kill "$server"; rm -rf "$run"' EXIT
sleep 1
FLINK_PLUGINS_DIR=$run/plugins AWS_ENDPOINT_URL=http://127.0.0.1:17370 AWS_ACCESS_KEY_ID=test-key AWS_SECRET_ACCESS_KEY=test-secret \
	"$here/run.sh" flink2 s3 rocksdb "$run/s3/flink"
rm -rf "$run"/s3/flink/checkpoints/*/chk-1
mv "$run/s3/flink" "$run/flink"
pack "$here/../../checkpoint/fixture/s3.tar.gz" flink
