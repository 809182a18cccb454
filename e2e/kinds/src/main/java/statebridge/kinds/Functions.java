package statebridge.kinds;

import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;
import statebridge.kinds.Shapes.Shape;

/** Functions of two inputs, of broadcasts, and with states of operators. */
final class Functions {
    private Functions() {}

    private static final MapStateDescriptor<Shape, Tuple2<String, Long>> RULES = new MapStateDescriptor<>("rules", TypeInformation.of(Shape.class), Types.TUPLE(Types.STRING, Types.LONG));

    /** Counts both sides, with timers of both times that are far off. */
    static final class Both extends KeyedCoProcessFunction<String, Tuple2<String, Long>, Tuple2<String, Long>, Void> {
        private transient ValueState<Long> left;
        private transient MapState<Long, String> right;

        @Override
        public void open(OpenContext c) {
            left = getRuntimeContext().getState(new ValueStateDescriptor<>("left", Types.LONG));
            right = getRuntimeContext().getMapState(new MapStateDescriptor<>("right", Types.LONG, Types.STRING));
        }

        @Override
        public void processElement1(Tuple2<String, Long> v, Context c, Collector<Void> out) throws Exception {
            left.update((left.value() == null ? 0 : left.value()) + v.f1);
            c.timerService().registerEventTimeTimer(1_000_000 + v.f1 % 2);
            c.timerService().registerProcessingTimeTimer(33_000_000_000_000L);
        }

        @Override
        public void processElement2(Tuple2<String, Long> v, Context c, Collector<Void> out) throws Exception {
            right.put(v.f1, v.f1 % 2 == 0 ? null : v.f0);
        }
    }

    /** Keeps rules by an object, and the newest record of a key. */
    static final class Ruled extends KeyedBroadcastProcessFunction<String, Tuple2<String, Long>, Tuple2<String, Long>, Void> {
        private transient ListState<Tuple2<String, Long>> latest;

        @Override
        public void open(OpenContext c) {
            latest = getRuntimeContext().getListState(new ListStateDescriptor<>("latest", Types.TUPLE(Types.STRING, Types.LONG)));
        }

        @Override
        public void processElement(Tuple2<String, Long> v, ReadOnlyContext c, Collector<Void> out) throws Exception {
            latest.update(List.of(v, Tuple2.of(",", -v.f1)));
            c.timerService().registerEventTimeTimer(2_000_000);
        }

        @Override
        public void processBroadcastElement(Tuple2<String, Long> v, Context c, Collector<Void> out) throws Exception {
            c.getBroadcastState(RULES).put(new Shape((int) (v.f1 % 4), v.f1 % 2 == 0 ? null : v.f0), v);
        }
    }

    /** Operator states of which only the first subtask has elements. */
    static final class Lists extends RichMapFunction<Tuple2<String, Long>, Tuple2<String, Long>> implements CheckpointedFunction {
        private transient ListState<String> union;
        private transient ListState<Shape> split;

        @Override
        public Tuple2<String, Long> map(Tuple2<String, Long> v) {
            return v;
        }

        @Override
        public void initializeState(FunctionInitializationContext c) throws Exception {
            union = c.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("union", Types.STRING));
            split = c.getOperatorStateStore().getListState(new ListStateDescriptor<>("split", TypeInformation.of(Shape.class)));
            c.getOperatorStateStore().getListState(new ListStateDescriptor<>("never", Types.LONG));
        }

        @Override
        public void snapshotState(FunctionSnapshotContext c) throws Exception {
            boolean first = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 0;
            union.update(first ? List.of("a", "b,") : List.of());
            split.update(first ? List.of(new Shape(1, null), new Shape(2, "two")) : List.of());
        }
    }

    static void add(DataStream<Tuple2<String, Long>> left, DataStream<Tuple2<String, Long>> right) {
        Line.discard(left.keyBy(t -> t.f0, Types.STRING).connect(right.keyBy(t -> t.f0, Types.STRING)).process(new Both(), Types.VOID).uid("both").name("both"));
        Line.discard(left.keyBy(t -> t.f0, Types.STRING).connect(right.broadcast(RULES)).process(new Ruled(), Types.VOID).uid("ruled").name("ruled"));
        Line.discard(left.rebalance().map(new Lists()).returns(Types.TUPLE(Types.STRING, Types.LONG)).uid("lists").name("lists"));
    }
}
