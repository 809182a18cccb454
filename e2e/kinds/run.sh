#!/bin/sh
# Runs one scenario of one line of Flink, built before: run.sh flink1|flink2 SCENARIO BACKEND DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=$here/target-$1
shift
opens=
for p in java.util java.lang java.lang.reflect java.text java.time java.math java.net java.io java.nio \
	java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks sun.net.util; do
	opens="$opens --add-opens=java.base/$p=ALL-UNNAMED"
done
# shellcheck disable=SC2086 # one word an option
exec java -Xmx700m -XX:+UseSerialGC -Duser.timezone=UTC -Dorg.slf4j.simpleLogger.defaultLogLevel="${KINDS_LOG:-error}" $opens \
	-cp "$target/kinds.jar:$(cat "$target/classpath")" statebridge.kinds.Main "$@"
