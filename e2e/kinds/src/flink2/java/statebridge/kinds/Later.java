package statebridge.kinds;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.v2.AggregatingState;
import org.apache.flink.api.common.state.v2.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.v2.ListState;
import org.apache.flink.api.common.state.v2.ListStateDescriptor;
import org.apache.flink.api.common.state.v2.MapState;
import org.apache.flink.api.common.state.v2.MapStateDescriptor;
import org.apache.flink.api.common.state.v2.ReducingState;
import org.apache.flink.api.common.state.v2.ReducingStateDescriptor;
import org.apache.flink.api.common.state.v2.ValueState;
import org.apache.flink.api.common.state.v2.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** States that answer asynchronously. */
final class Later extends KeyedProcessFunction<String, Tuple2<String, Long>, Void> {
    private transient ValueState<Long> last;
    private transient ListState<Long> all;
    private transient MapState<Long, String> map;
    private transient ReducingState<Long> highest;
    private transient AggregatingState<Tuple2<String, Long>, Long> sum;

    @Override
    public void open(OpenContext c) {
        StateTtlConfig ttl = StateTtlConfig.newBuilder(java.time.Duration.ofDays(30)).build();
        var values = new ValueStateDescriptor<>("last", Types.LONG);
        values.enableTimeToLive(ttl);
        last = getRuntimeContext().getState(values);
        all = getRuntimeContext().getListState(new ListStateDescriptor<>("all", Types.LONG));
        map = getRuntimeContext().getMapState(new MapStateDescriptor<>("map", Types.LONG, Types.STRING));
        highest = getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("highest", (ReduceFunction<Long>) Math::max, Types.LONG));
        sum = getRuntimeContext().getAggregatingState(new AggregatingStateDescriptor<>("sum", new Corners.Summing(), TypeInformation.of(Corners.Sum.class)));
    }

    @Override
    public void processElement(Tuple2<String, Long> v, Context c, Collector<Void> out) {
        c.timerService().registerEventTimeTimer(3_000_000);
        last.asyncUpdate(v.f1);
        all.asyncAdd(v.f1);
        map.asyncPut(v.f1, v.f1 % 2 == 0 ? null : v.f0);
        if (v.f1 % 5 == 0) {
            map.asyncRemove(v.f1 - 3);
        }
        highest.asyncAdd(v.f1);
        sum.asyncAdd(v);
    }
}
