#!/bin/sh
# Runs the bank of one line of Flink, built before: bank.sh flink1|flink2 --mode rounds --dir DIR [--name value]...
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
exec java "-Xmx${BANK_HEAP:-768m}" -XX:+UseSerialGC -Duser.timezone=UTC -Dorg.slf4j.simpleLogger.defaultLogLevel="${BANK_LOG:-error}" $opens \
	-cp "$target/bank.jar:$(cat "$target/classpath")" statebridge.bank.Main "$@"
