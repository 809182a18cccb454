package statebridge.kinds;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamUtils;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A bounded source ends while another part of the job runs on: its keyed operator has finished, first none of it, then one of two subtasks ("half" only), then all.
 */
final class Finished {
    private Finished() {}

    static void run(Run r, boolean half, boolean unaligned) throws Exception {
        r.settings.put("execution.checkpointing.checkpoints-after-tasks-finish", "true");
        r.settings.put("execution.checkpointing.checkpoints-after-tasks-finish.enabled", "true");
        if (unaligned) {
            r.settings.put("execution.checkpointing.unaligned.enabled", "true");
            r.settings.put("execution.checkpointing.aligned-checkpoint-timeout", "0 ms");
        }
        StreamExecutionEnvironment env = r.cluster().environment(2);
        env.disableOperatorChaining();
        Keyed<String> ledger = new Keyed<>("ledger"), live = new Keyed<>("live");
        for (Keyed<String> k : java.util.List.of(ledger, live)) {
            k.state(new ValueStateDescriptor<>("total", Types.LONG));
            k.state(new MapStateDescriptor<>("items", Types.STRING, Types.INT));
        }
        Map<Integer, Integer> next = new HashMap<>(); // operation numbers go to subtasks in turn
        for (int i = 0, n = 0; n < 12; i++) {
            String key = "account-" + i;
            int subtask = KeyGroupRangeAssignment.assignKeyToParallelOperator(key, 128, 2);
            if (subtask != n % 2) {
                continue; // an item goes through the source's subtask of its own parity, which is where its key must be
            }
            n++;
            ledger.put("total", key, "\"" + key + "\"", 100L * i, "" + 100L * i);
            live.put("total", key, "\"" + key + "\"", 7L * i, "" + 7L * i);
        }
        if (half) {
            r.operators.add(ledger);
            DataStream<Long> source = env.addSource(new FeedSource("ledger"), "source of ledger", Types.LONG).uid("source-ledger");
            Line.discard(DataStreamUtils.reinterpretAsKeyedStream(source, i -> Keyed.<String>key("ledger", i), Types.STRING).process(ledger, Types.VOID)
                    .uid("ledger").name("ledger"));
        } else {
            r.keyed(env, ledger, Types.STRING);
        }
        r.keyed(env, live, Types.STRING);
        r.start(env, null, false);
        r.checkpoint();
        int running = r.cluster().finished();
        if (half) {
            Feed.of("ledger").ended = 1;
            await(r, running + 1); // the others of the chain wait for a checkpoint
            r.checkpoint();
            Thread.sleep(500);
            r.checkpoint(subtaskOne(ledger) + live.expected());
        }
        if (unaligned) { // what is slow stands before the barrier, and is overtaken by it
            for (int i = 0; i < 1000; i++) {
                live.other("account-" + i % 20, f -> Thread.sleep(2));
            }
        }
        Feed.of("ledger").ended = 2;
        await(r, running + 2);
        r.checkpointNow(half ? subtaskOne(ledger) + live.expected() : ledger.expected() + live.expected()); // the last of the ledger's rows
        Thread.sleep(500);
        if (unaligned) {
            r.checkpointNow(live.expected());
        }
        live.put("total", "account-0", "\"account-0\"", 1L, "1");
        r.drain();
        r.checkpoint(live.expected());
        r.savepoint(SavepointFormatType.CANONICAL, live.expected());
    }

    private static void await(Run r, int finished) throws Exception {
        for (int i = 0; r.cluster().finished() < finished && i < 200; i++) {
            Thread.sleep(20);
        }
        Thread.sleep(500);
    }

    /** The rows whose keys belong to the second subtask. */
    private static String subtaskOne(Keyed<String> k) {
        StringBuilder b = new StringBuilder();
        k.expected().lines().filter(l -> {
            String key = l.replaceAll(".*\"key\":\"([^\"]*)\".*", "$1");
            return KeyGroupRangeAssignment.assignKeyToParallelOperator(key, 128, 2) == 1;
        }).forEach(l -> b.append(l).append('\n'));
        return b.toString();
    }
}
