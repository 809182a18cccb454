package statebridge.kinds;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.JoinFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.util.Collector;

/** An interval join and a window join of two streams, of which some records meet. */
final class Joins {
    private Joins() {}

    /** Record i of a side is of key i modulo 3, at i seconds. */
    private static DataStream<Tuple2<Long, String>> side(StreamExecutionEnvironment env, String name) {
        return env.addSource(new FeedSource(name), name, Types.LONG).setParallelism(1)
                .map(i -> {
                    Feed.of(name).handled.incrementAndGet();
                    return Tuple2.of(i, name + i);
                }, Types.TUPLE(Types.LONG, Types.STRING)).setParallelism(1)
                .assignTimestampsAndWatermarks(WatermarkStrategy.<Tuple2<Long, String>>forGenerator(c -> new org.apache.flink.api.common.eventtime.NoWatermarksGenerator<>())
                        .withTimestampAssigner((t, old) -> t.f0 * 1000)).setParallelism(1);
    }

    static void run(Run r) throws Exception {
        StreamExecutionEnvironment env = r.cluster().environment(2);
        DataStream<Tuple2<Long, String>> left = side(env, "l"), right = side(env, "r");
        Line.discard(left.keyBy(t -> t.f0 % 3, Types.LONG).intervalJoin(right.keyBy(t -> t.f0 % 3, Types.LONG))
                .between(Duration.ofSeconds(0), Duration.ofSeconds(1)).process(new ProcessJoinFunction<Tuple2<Long, String>, Tuple2<Long, String>, String>() {
                    @Override
                    public void processElement(Tuple2<Long, String> a, Tuple2<Long, String> b, Context c, Collector<String> out) {
                        out.collect(a.f1 + b.f1);
                    }
                }, Types.STRING).uid("interval").name("interval"));
        Line.discard(((org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator<String>) left.join(right).where(t -> t.f0 % 3, Types.LONG)
                .equalTo(t -> t.f0 % 3, Types.LONG).window(TumblingEventTimeWindows.of(Duration.ofSeconds(10)))
                .apply((JoinFunction<Tuple2<Long, String>, Tuple2<Long, String>, String>) (a, b) -> a.f1 + b.f1, Types.STRING)).uid("window").name("window"));
        r.cluster().submit(env, r.jobId(), null, false);
        for (long i = 0; i < 6; i++) {
            Feed.of("l").add(i);
        }
        Feed.of("r").add(4);
        for (String name : new String[] {"l", "r"}) {
            Feed.of(name).drain(r.cluster()::check);
        }
        Thread.sleep(2000);
        r.report(r.cluster().checkpoint(), "checkpoint", "");
        r.report(r.cluster().savepoint(SavepointFormatType.CANONICAL), "savepoint-canonical", "");
    }
}
