package statebridge.kinds;

import java.time.Duration;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.PurgingTrigger;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** Windows that merge, are late, evict, fire early; a pattern that repeats. */
final class Windows {
    private Windows() {}

    private static Tuple2<String, Long> add(Tuple2<String, Long> a, Tuple2<String, Long> b) {
        return Tuple2.of(a.f0, a.f1 + b.f1);
    }

    static void add(DataStream<Tuple2<String, Long>> records) {
        KeyedStream<Tuple2<String, Long>, String> keyed = records.keyBy(t -> t.f0, Types.STRING);
        OutputTag<Tuple2<String, Long>> late = new OutputTag<>("late", Types.TUPLE(Types.STRING, Types.LONG));
        Line.discard(keyed.window(EventTimeSessionWindows.withGap(Duration.ofSeconds(4))).allowedLateness(Duration.ofSeconds(10)).sideOutputLateData(late)
                .aggregate(new Corners.Summing(), TypeInformation.of(Corners.Sum.class), Types.LONG).uid("sessions").name("sessions"));
        Line.discard(keyed.window(SlidingEventTimeWindows.of(Duration.ofSeconds(10), Duration.ofSeconds(5))).evictor(CountEvictor.of(3))
                .reduce(Windows::add).uid("evicted").name("evicted"));
        Line.discard(keyed.countWindow(3, 1).reduce(Windows::add).uid("counted").name("counted"));
        Line.discard(keyed.window(TumblingEventTimeWindows.of(Duration.ofSeconds(30))).trigger(PurgingTrigger.of(ContinuousEventTimeTrigger.of(Duration.ofSeconds(7))))
                .reduce(Windows::add).uid("continuous").name("continuous"));
        Line.discard(records.windowAll(TumblingEventTimeWindows.of(Duration.ofSeconds(30))).reduce(Windows::add).uid("all").name("all"));
        pattern(keyed);
    }

    private static void pattern(KeyedStream<Tuple2<String, Long>, String> keyed) {
        Pattern<Tuple2<String, Long>, ?> p = Pattern.<Tuple2<String, Long>>begin("a", AfterMatchSkipStrategy.skipToFirst("b"))
                .where(SimpleCondition.of(t -> t.f1 > 0)).times(2, 3).followedBy("b").where(SimpleCondition.of(t -> t.f1 % 2 == 0)).oneOrMore().optional()
                .next("c").where(SimpleCondition.of(t -> t.f1 > 1000));
        Line.discard(CEP.pattern(keyed, p).process(new PatternProcessFunction<Tuple2<String, Long>, String>() {
            @Override
            public void processMatch(java.util.Map<String, java.util.List<Tuple2<String, Long>>> match, Context c, Collector<String> out) {
                out.collect(match.toString());
            }
        }, Types.STRING).uid("pattern").name("pattern"));
    }
}
