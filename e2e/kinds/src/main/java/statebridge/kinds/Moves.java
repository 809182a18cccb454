package statebridge.kinds;

import java.nio.file.Path;
import java.time.Duration;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Restores with other parallelism, places with entropy, times that move without values. */
final class Moves {
    private Moves() {}

    private static Keyed<String> carts(String uid) {
        Keyed<String> k = new Keyed<>(uid);
        k.state(new ValueStateDescriptor<>("total", Types.LONG));
        k.state(new MapStateDescriptor<>("items", Types.STRING, Types.INT));
        k.state(new ListStateDescriptor<>("log", Types.STRING));
        return k;
    }

    private static void fill(Keyed<String> k, int from, int to) {
        for (int i = from; i < to; i++) {
            String key = "cart-" + i, json = "\"" + key + "\"";
            k.put("total", key, json, 10L * i + to, "" + (10L * i + to));
            k.entry("items", key, json, "apple", "\"apple\"", i, "" + i);
            k.entry("items", key, json, "pear" + i % 7, "\"pear" + i % 7 + "\"", -i, "" + -i);
            k.add("log", key, json, "e,", "\"e,\"");
        }
    }

    private static void start(Run r, Keyed<String> k, int parallelism, Path restore, boolean claim) throws Exception {
        StreamExecutionEnvironment env = r.cluster().environment(parallelism);
        r.keyed(env, k, Types.STRING);
        r.start(env, restore, claim);
    }

    /** A checkpoint right after each restore, before anything else has changed, and one after some changes. */
    static void rescale(Run r, boolean claim, int... parallelism) throws Exception {
        Keyed<String> k = carts("carts");
        Path last = null;
        for (int i = 0; i < parallelism.length; i++) {
            if (last != null) {
                r.stop();
            }
            if (i == 0) {
                fill(k, 0, 120);
            }
            start(r, k, parallelism[i], last, claim);
            last = r.checkpoint();
            fill(k, 100 + 10 * i, 125 + 10 * i);
            for (int c = 3 * i; c < 3 * i + 3; c++) {
                k.clear("total", "cart-" + c, "\"cart-" + c + "\"");
                k.drop("items", "cart-" + c, "\"cart-" + c + "\"", "apple", "\"apple\"");
            }
            last = r.checkpoint();
        }
        r.savepoint(SavepointFormatType.NATIVE);
    }

    /** All rows go. */
    static void emptied(Run r) throws Exception {
        Keyed<String> k = carts("carts");
        fill(k, 0, 3);
        start(r, k, 4, null, false);
        r.checkpoint();
        for (int i = 0; i < 3; i++) {
            String key = "cart-" + i, json = "\"" + key + "\"";
            k.clear("total", key, json);
            k.clear("log", key, json);
            k.drop("items", key, json, "apple", "\"apple\"");
            k.drop("items", key, json, "pear" + i % 7, "\"pear" + i % 7 + "\"");
        }
        r.checkpoint();
        r.savepoint(SavepointFormatType.CANONICAL);
    }

    static void entropy(Run r) throws Exception {
        scattered(r, "entropy://" + r.dir);
        r.savepoint(SavepointFormatType.CANONICAL);
        r.savepoint(SavepointFormatType.NATIVE);
    }

    /** Checkpoints in the bucket of the run's name, at the server that the environment names, by a file system from FLINK_PLUGINS_DIR. */
    static void s3(Run r) throws Exception {
        r.settings.put("s3.endpoint", System.getenv("AWS_ENDPOINT_URL"));
        r.settings.put("s3.access-key", System.getenv("AWS_ACCESS_KEY_ID"));
        r.settings.put("s3.secret-key", System.getenv("AWS_SECRET_ACCESS_KEY"));
        r.settings.put("s3.path.style.access", "true");
        r.settings.put("s3.entropy.key", "_entropy_");
        r.settings.put("s3.entropy.length", "4");
        scattered(r, "s3://" + r.dir.getFileName());
    }

    private static void scattered(Run r, String root) throws Exception {
        r.settings.put("execution.checkpointing.dir", root + "/_entropy_/checkpoints");
        r.settings.put("execution.checkpointing.savepoint-dir", root + "/_entropy_/savepoints");
        Keyed<String> k = carts("carts");
        fill(k, 0, 20);
        start(r, k, 2, null, false);
        r.checkpoint();
        fill(k, 10, 25);
        r.checkpoint();
    }

    /** Values that are read only, so that their times move; then one of them changes. Beside them, rows that have expired long ago, and are still there. */
    static void ttl(Run r) throws Exception {
        Keyed<String> old = carts("old"), k = carts("carts");
        StateTtlConfig soon = StateTtlConfig.newBuilder(Duration.ofMillis(1)).disableCleanupInBackground().build();
        for (StateDescriptor<?, ?> d : old.descriptors()) {
            d.enableTimeToLive(soon);
        }
        fill(old, 0, 5);
        StateTtlConfig ttl = StateTtlConfig.newBuilder(Duration.ofDays(30)).setUpdateType(StateTtlConfig.UpdateType.OnReadAndWrite).build();
        for (StateDescriptor<?, ?> d : k.descriptors()) {
            d.enableTimeToLive(ttl);
        }
        fill(k, 0, 10);
        StreamExecutionEnvironment env = r.cluster().environment(2);
        r.keyed(env, old, Types.STRING);
        r.keyed(env, k, Types.STRING);
        r.start(env, null, false);
        r.checkpoint();
        Thread.sleep(20);
        for (int i = 0; i < 10; i++) {
            for (String state : new String[] {"total", "items", "log"}) {
                k.touch(state, "cart-" + i);
            }
        }
        r.checkpoint();
        k.put("total", "cart-1", "\"cart-1\"", 5L, "5");
        k.add("log", "cart-2", "\"cart-2\"", "", "\"\"");
        r.checkpoint();
        r.savepoint(SavepointFormatType.CANONICAL);
    }
}
