package statebridge.kinds;

import java.nio.file.Path;
import java.time.YearMonth;
import java.util.List;
import java.util.Stack;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import statebridge.kinds.Shapes.Plain;

/** Classes that Kryo has under numbers, which differ between jobs. */
final class Registered {
    private Registered() {}

    /** Two jobs with the same values, whose classes Kryo has under each other's numbers. */
    static void run(Run r) throws Exception {
        start(r, null, job(), Stack.class, YearMonth.class);
        r.checkpoint();
        r.stop();
        start(r, null, job(), YearMonth.class, Stack.class);
        r.checkpoint();
    }

    /**
     * A class that only its job knows stands between two others. Restored, the job registers it no longer and the others the other way round; Flink keeps the
     * numbers. It restores no job whose registered class is gone altogether, so no snapshot lacks a registration.
     */
    static void restored(Run r) throws Exception {
        Keyed<String> f = job();
        if (r.settings.get("state.backend.type").equals("rocksdb")) { // in a heap snapshot nothing says where such a value ends
            f.put("any", "plain", "\"plain\"", new Plain(5, "five"), Line.PLAIN);
            f.add("anys", "plain", "\"plain\"", YearMonth.of(2024, 2), "\"2024-02\"");
            f.add("anys", "plain", "\"plain\"", new Plain(5, "five"), "");
            f.add("anys", "plain", "\"plain\"", "x", "");
            f.list("anys", "\"plain\"", Line.PLAINS);
        }
        start(r, null, f, Stack.class, Plain.class, YearMonth.class);
        Path last = r.checkpoint();
        r.stop();
        f.put("any", "later", "\"later\"", YearMonth.of(2025, 1), "\"2025-01\"");
        start(r, last, f, YearMonth.class, Stack.class);
        r.checkpoint();
        r.savepoint(SavepointFormatType.CANONICAL);
    }

    private static Keyed<String> job() {
        Keyed<String> f = new Keyed<>("registered");
        f.state(new ValueStateDescriptor<>("any", new GenericTypeInfo<>(Object.class)));
        f.state(new ListStateDescriptor<>("anys", new GenericTypeInfo<>(Object.class)));
        Stack<Object> stack = new Stack<>();
        stack.addAll(List.of(YearMonth.of(2024, 2), "x"));
        f.put("any", "stack", "\"stack\"", stack, "[\"2024-02\",\"x\"]");
        f.put("any", "month", "\"month\"", YearMonth.of(-1, 12), "\"-0001-12\"");
        return f;
    }

    private static void start(Run r, Path restore, Keyed<String> f, Class<?>... classes) throws Exception {
        StreamExecutionEnvironment env = r.cluster().environment(1);
        SerializerConfigImpl kryo = (SerializerConfigImpl) env.getConfig().getSerializerConfig(); // options do not keep their order
        for (Class<?> c : classes) {
            kryo.registerKryoType(c);
        }
        r.keyed(env, f, Types.STRING);
        r.start(env, restore, false);
    }
}
