#!/bin/sh
# Runs a class of one line of Flink, built before: java.sh flink1|flink2 CLASS [argument]... PEER_HEAP sets the heap.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=$here/target-$1
class=$2
shift 2
opens=
for p in java.util java.lang java.lang.reflect java.text java.time java.math java.net java.io java.nio \
	java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks sun.net.util; do
	opens="$opens --add-opens=java.base/$p=ALL-UNNAMED"
done
# shellcheck disable=SC2086 # one word an option
exec java "-Xmx${PEER_HEAP:-768m}" ${PEER_JAVA:--XX:+UseParallelGC} -Duser.timezone=UTC -Dorg.slf4j.simpleLogger.defaultLogLevel="${BANK_LOG:-error}" $opens \
	-cp "$target/peer.jar:$(cat "$target/classpath")" "$class" "$@"
