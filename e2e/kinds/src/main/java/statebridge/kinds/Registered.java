package statebridge.kinds;

import java.time.YearMonth;
import java.util.List;
import java.util.Stack;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Two jobs with the same values, whose classes Kryo has under each other's numbers. */
final class Registered {
    private Registered() {}

    static void run(Run r) throws Exception {
        job(r, Stack.class, YearMonth.class);
        r.stop();
        job(r, YearMonth.class, Stack.class);
    }

    private static void job(Run r, Class<?> first, Class<?> second) throws Exception {
        StreamExecutionEnvironment env = r.cluster().environment(1);
        SerializerConfigImpl kryo = (SerializerConfigImpl) env.getConfig().getSerializerConfig(); // options do not keep their order
        kryo.registerKryoType(first);
        kryo.registerKryoType(second);
        Keyed<String> f = new Keyed<>("registered");
        f.state(new ValueStateDescriptor<>("any", new GenericTypeInfo<>(Object.class)));
        Stack<Object> stack = new Stack<>();
        stack.addAll(List.of(YearMonth.of(2024, 2), "x"));
        f.put("any", "stack", "\"stack\"", stack, "[\"2024-02\",\"x\"]");
        f.put("any", "month", "\"month\"", YearMonth.of(-1, 12), "\"-0001-12\"");
        r.keyed(env, f, Types.STRING);
        r.start(env, null, false);
        r.checkpoint();
    }
}
