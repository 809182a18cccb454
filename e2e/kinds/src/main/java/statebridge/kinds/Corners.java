package statebridge.kinds;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.types.Row;
import statebridge.kinds.Shapes.Shape;

/** Kinds of state that are met seldom, in one job. What the keyed operators hold is known beforehand; what the others hold is read by eye. */
final class Corners {
    private Corners() {}

    /** An accumulator. */
    public static class Sum {
        public long sum;
        public String last;
        public Shape shape;
        public Map<String, Long> seen = new HashMap<>();

        public Sum() {}
    }

    /** Sums numbers into an accumulator of a class of the job's. */
    static final class Summing implements AggregateFunction<Tuple2<String, Long>, Sum, Long> {
        @Override
        public Sum createAccumulator() {
            return new Sum();
        }

        @Override
        public Sum add(Tuple2<String, Long> v, Sum s) {
            s.sum += v.f1;
            s.last = v.f1 % 2 == 0 ? null : v.f0;
            s.shape = new Shape((int) s.sum, null);
            s.seen.merge(v.f0, 1L, Long::sum);
            return s;
        }

        @Override
        public Long getResult(Sum s) {
            return s.sum;
        }

        @Override
        public Sum merge(Sum a, Sum b) {
            a.sum += b.sum;
            b.seen.forEach((k, n) -> a.seen.merge(k, n, Long::sum));
            return a;
        }
    }

    /** Keeps a list that Kryo writes. */
    static final class Collecting implements AggregateFunction<Integer, ArrayList<Object>, Integer> {
        @Override
        public ArrayList<Object> createAccumulator() {
            return new ArrayList<>(List.of("from"));
        }

        @Override
        public ArrayList<Object> add(Integer v, ArrayList<Object> all) {
            all.add(v);
            return all;
        }

        @Override
        public Integer getResult(ArrayList<Object> all) {
            return all.size();
        }

        @Override
        public ArrayList<Object> merge(ArrayList<Object> a, ArrayList<Object> b) {
            a.addAll(b);
            return a;
        }
    }

    private static final class EachEvent implements WatermarkGenerator<Tuple2<String, Long>> {
        @Override
        public void onEvent(Tuple2<String, Long> event, long timestamp, WatermarkOutput out) {
            out.emitWatermark(new Watermark(timestamp - 5000));
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput out) {}
    }

    /** Record i is of one of three keys, at i seconds; the watermark follows five seconds later. */
    static DataStream<Tuple2<String, Long>> records(StreamExecutionEnvironment env, String name) {
        return env.addSource(new FeedSource(name), name, Types.LONG).setParallelism(1).uid("source-" + name)
                .map(i -> {
                    Feed.of(name).handled.incrementAndGet();
                    return Tuple2.of("k" + i % 3, i);
                }, Types.TUPLE(Types.STRING, Types.LONG)).setParallelism(1).uid("map-" + name)
                .assignTimestampsAndWatermarks(WatermarkStrategy.forGenerator(c -> new EachEvent()).withTimestampAssigner((t, old) -> t.f1 * 1000))
                .setParallelism(1).uid("times-" + name);
    }

    private static void keyed(Run r, StreamExecutionEnvironment env) {
        Keyed<Tuple2<Shape, Integer>> f = new Keyed<>("corners");
        Tuple2<Shape, Integer> key = Tuple2.of(new Shape(1, null), -1);
        String json = "[{\"id\":1,\"name\":null},-1]";
        StateTtlConfig ttl = StateTtlConfig.newBuilder(Duration.ofDays(30)).build();
        var rows = new ListStateDescriptor<>("rows", Types.ROW(Types.INT, Types.STRING));
        var texts = new MapStateDescriptor<>("texts", Types.STRING, Types.STRING);
        var longest = new ReducingStateDescriptor<>("longest", (ReduceFunction<String>) (a, b) -> b.length() > a.length() ? b : a, Types.STRING);
        var pairs = new ReducingStateDescriptor<>("pairs", (ReduceFunction<Tuple2<String, Long>>) (a, b) -> Tuple2.of(a.f0 + b.f0, a.f1 + b.f1), Types.TUPLE(Types.STRING, Types.LONG));
        var sum = new AggregatingStateDescriptor<>("sum", new Summing(), TypeInformation.of(Sum.class));
        TypeInformation<ArrayList<Object>> list = new GenericTypeInfo<>(cast(ArrayList.class));
        var collected = new AggregatingStateDescriptor<>("collected", new Collecting(), list);
        for (var d : List.of(rows, texts, longest, collected)) {
            d.enableTimeToLive(ttl);
        }
        for (var d : List.of(rows, texts, longest, pairs, sum, collected)) {
            f.state(d);
        }
        f.add("rows", key, json, Row.of(null, null), "[null,null]");
        f.add("rows", key, json, Row.of(1, ","), "[1,\",\"]");
        f.entry("texts", key, json, "none", "\"none\"", null, "null");
        f.entry("texts", key, json, "", "\"\"", "", "\"\"");
        f.reduce("longest", key, json, "a", "\"a\"");
        f.reduce("longest", key, json, "abc", "\"abc\"");
        f.reduce("pairs", key, json, Tuple2.of("x", 1L), "[\"x\",1]");
        f.reduce("pairs", key, json, Tuple2.of("y", 2L), "[\"xy\",3]");
        f.aggregate("sum", key, json, Tuple2.of("x", 1L), "");
        f.aggregate("sum", key, json, Tuple2.of("y", 2L),
                "{\"last\":null,\"seen\":{\"x\":1,\"y\":1},\"shape\":{\"id\":3,\"name\":null},\"sum\":3}");
        f.aggregate("collected", key, json, 7, "[\"from\",7]");
        r.keyed(env, f, Types.TUPLE(TypeInformation.of(Shape.class), Types.INT));
        wide(r, env, "one-group", 1, 1);
        wide(r, env, "all-groups", 1 << 15, 2);
    }

    @SuppressWarnings("unchecked")
    private static <T> Class<T> cast(Class<?> c) {
        return (Class<T>) c;
    }

    private static void wide(Run r, StreamExecutionEnvironment env, String uid, int groups, int parallelism) {
        Keyed<Long> f = new Keyed<>(uid);
        f.state(new ValueStateDescriptor<>("v", Types.STRING));
        f.state(new MapStateDescriptor<>("m", Types.LONG, Types.SHORT));
        for (long key = -2; key < 3; key++) {
            f.put("v", key, "" + key, "v" + key, "\"v" + key + "\"");
            f.entry("m", key, "" + key, -key, "" + -key, (short) key, "" + key);
        }
        r.keyed(env, f, Types.LONG).setParallelism(parallelism).setMaxParallelism(groups);
    }

    static void run(Run r, boolean merged, boolean async) throws Exception {
        r.settings.put("taskmanager.memory.managed.size", "400m");
        r.settings.put("taskmanager.memory.network.min", "128m");
        r.settings.put("taskmanager.memory.network.max", "128m");
        if (merged) {
            r.settings.put("execution.checkpointing.file-merging.enabled", "true");
            r.settings.put("execution.checkpointing.unaligned.enabled", "true");
            r.settings.put("execution.checkpointing.aligned-checkpoint-timeout", "0 ms");
        }
        StreamExecutionEnvironment env = r.cluster().environment(2);
        keyed(r, env);
        DataStream<Tuple2<String, Long>> left = records(env, "left"), right = records(env, "right");
        Windows.add(left);
        Functions.add(left, right);
        if (async) {
            Line.corners(left);
        }
        r.start(env, null, false);
        feed(r, 0, 9);
        if (r.settings.containsKey("state.changelog.enabled")) {
            Thread.sleep(7000); // until the state was materialized, without which nothing says how keys are serialized
        }
        r.checkpoint();
        feed(r, 9, 15);
        r.checkpoint();
        if (!async) { // Flink has no canonical savepoint of asynchronous state
            r.savepoint(SavepointFormatType.CANONICAL);
        }
        r.savepoint(SavepointFormatType.NATIVE);
    }

    private static void feed(Run r, long from, long to) throws Exception {
        for (long i = from; i < to; i++) {
            Feed.of("left").add(i);
            Feed.of("right").add(i / 2);
        }
        Feed.of("left").add(from / 2); // late
        for (String name : new String[] {"left", "right"}) {
            Feed.of(name).drain(r.cluster()::check);
        }
    }
}
