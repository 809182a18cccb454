package statebridge.bank;

import java.math.BigInteger;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** One state with many keys, for measurements: all are written, a checkpoint, a fraction is written anew, another checkpoint. */
final class Bulk {
    private Bulk() {}

    static void run(Options options) throws Exception {
        long keys = options.number("keys", 1_000_000);
        long changes = Math.round(keys * options.fraction("fraction", 0.01));
        try (Cluster cluster = new Cluster(options)) {
            var env = StreamExecutionEnvironment.getExecutionEnvironment(Cluster.configuration(options));
            env.setParallelism((int) options.number("parallelism", 2));
            env.setMaxParallelism((int) options.number("max-parallelism", 128));
            env.addSource(new Numbers(keys), "numbers").returns(Types.LONG).uid("numbers").setParallelism(1)
                    .keyBy(n -> n % keys).process(new Write(keys)).name("bulk").uid("bulk-op");
            cluster.submit(env, options);
            Scenario scenario = new Scenario(options, cluster);
            step(cluster, scenario, keys);
            step(cluster, scenario, keys + changes);
            Control.event("counts", "keys", keys, "changes", changes);
            scenario.write();
            cluster.cancel();
        }
    }

    private static void step(Cluster cluster, Scenario scenario, long position) throws Exception {
        Control.allow(position);
        Control.drain();
        scenario.add(cluster.checkpoint(), "checkpoint");
    }

    /** What a key holds in a version: the same in every run. */
    static Profile profile(long key, long version) {
        Profile p = new Profile();
        p.name = "Holder " + key;
        p.email = key % 7 == 0 ? null : "holder" + key + "@example.org";
        p.level = (int) (key % 10);
        p.score = key % 1000 / 4.0 + version;
        p.since = LocalDate.of(2020, 1, 1).plusDays(key % 2000);
        p.tags = new ArrayList<>(List.of("tag" + key % 5));
        return p;
    }

    /** 0, 1, 2, …; beyond the number of keys, some of them again, spread over all by a stride that has no divisor in common with them. */
    private static final class Numbers extends LineSource<Long> {
        private final long keys;
        private volatile boolean running = true;

        Numbers(long keys) {
            this.keys = keys;
        }

        @Override
        public void run(SourceContext<Long> context) throws Exception {
            long stride = coprime(keys);
            long position = 0;
            while (running) {
                for (long n = Control.await(position); n > 0 && running; n--) {
                    synchronized (context.getCheckpointLock()) {
                        context.collect(position < keys ? position : keys + (position - keys) * stride % keys);
                        position++;
                    }
                }
            }
        }

        private static long coprime(long n) {
            long s = Math.max(1, (long) (n * 0.618));
            while (BigInteger.valueOf(s).gcd(BigInteger.valueOf(n)).longValue() != 1) {
                s++;
            }
            return s;
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    private static final class Write extends KeyedProcessFunction<Long, Long, Void> {
        private final long keys;
        private transient ValueState<Profile> profile;

        Write(long keys) {
            this.keys = keys;
        }

        @Override
        public void open(OpenContext context) {
            profile = getRuntimeContext().getState(new ValueStateDescriptor<>("profile", Types.POJO(Profile.class)));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Void> out) throws Exception {
            profile.update(Bulk.profile(number % keys, number / keys));
        }
    }
}
