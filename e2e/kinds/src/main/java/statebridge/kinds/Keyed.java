package statebridge.kinds;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * One keyed operator whose states are described and filled by operations. Each operation comes with the JSON that a reader must make of what it stores, written
 * down by hand, so that what a snapshot must hold is known without Flink.
 */
final class Keyed<K> extends KeyedProcessFunction<K, Long, Void> {
    /** Does one thing to the states of a key. */
    interface Act {
        void apply(Keyed<?> f) throws Exception;
    }

    /** The operations of all operators, by uid; beside the class, since functions are serialized. */
    static final Map<String, Keyed<?>> ALL = new ConcurrentHashMap<>();

    final String uid;
    private final transient Map<String, StateDescriptor<?, ?>> descriptors = new LinkedHashMap<>();
    private final transient List<Act> acts = new ArrayList<>();
    private final transient List<K> keys = new ArrayList<>();
    private final transient Map<String, String> rows = new TreeMap<>(); // state, key, map key -> JSON of the row, or of a list's elements
    private transient Map<String, State> states;

    Keyed(String uid) {
        this.uid = uid;
        ALL.put(uid, this);
    }

    private Keyed<?> shared() {
        return ALL.get(uid);
    }

    /** The key of an item: items are indexes of operations. */
    @SuppressWarnings("unchecked")
    static <K> K key(String uid, long item) {
        return (K) ALL.get(uid).keys.get((int) item);
    }

    /** Describes a state, which the operator registers when it starts. */
    void state(StateDescriptor<?, ?> d) {
        descriptors.put(d.getName(), d);
    }

    Iterable<StateDescriptor<?, ?>> descriptors() {
        return descriptors.values();
    }

    private void act(K key, Act a) {
        keys.add(key);
        acts.add(a);
        Feed.of(uid).add(acts.size() - 1);
    }

    @SuppressWarnings("unchecked")
    <T> void put(String state, K key, String keyJson, T value, String json) {
        act(key, f -> ((ValueState<T>) f.states.get(state)).update(value));
        rows.put(id(state, keyJson, null), row(state, "value", keyJson, null, json));
    }

    @SuppressWarnings("unchecked")
    <T> void add(String state, K key, String keyJson, T value, String json) {
        act(key, f -> ((ListState<T>) f.states.get(state)).add(value));
        String id = id(state, keyJson, null), old = rows.get(id);
        String list = old == null ? "[" : old.substring(old.indexOf("\"value\":") + 8, old.length() - 3) + ",";
        rows.put(id, row(state, "list", keyJson, null, list + json + "]"));
    }

    @SuppressWarnings("unchecked")
    <M, T> void entry(String state, K key, String keyJson, M mapKey, String mapKeyJson, T value, String json) {
        act(key, f -> ((MapState<M, T>) f.states.get(state)).put(mapKey, value));
        rows.put(id(state, keyJson, mapKeyJson), row(state, "map", keyJson, mapKeyJson, json));
    }

    @SuppressWarnings("unchecked")
    <M> void drop(String state, K key, String keyJson, M mapKey, String mapKeyJson) {
        act(key, f -> ((MapState<M, ?>) f.states.get(state)).remove(mapKey));
        rows.remove(id(state, keyJson, mapKeyJson));
    }

    @SuppressWarnings("unchecked")
    <T> void reduce(String state, K key, String keyJson, T value, String now) {
        act(key, f -> ((ReducingState<T>) f.states.get(state)).add(value));
        rows.put(id(state, keyJson, null), row(state, "reducing", keyJson, null, now));
    }

    @SuppressWarnings("unchecked")
    <T> void aggregate(String state, K key, String keyJson, T value, String accumulator) {
        act(key, f -> ((AggregatingState<T, ?>) f.states.get(state)).add(value));
        rows.put(id(state, keyJson, null), row(state, "aggregating", keyJson, null, accumulator));
    }

    /** Reads a state, which moves the time of last access where it has one for reads. */
    void touch(String state, K key) {
        act(key, f -> {
            State s = f.states.get(state);
            if (s instanceof ValueState) {
                ((ValueState<?>) s).value();
            } else if (s instanceof MapState) {
                ((MapState<?, ?>) s).entries().forEach(e -> e.getValue());
            } else if (s instanceof ListState) {
                ((ListState<?>) s).get().forEach(e -> {});
            }
        });
    }

    void clear(String state, K key, String keyJson) {
        act(key, f -> f.states.get(state).clear());
        rows.remove(id(state, keyJson, null));
    }

    /** Says what a reader makes of a whole list, one of whose elements is of unknown length. */
    void list(String state, String keyJson, String json) {
        rows.put(id(state, keyJson, null), row(state, "list", keyJson, null, json));
    }

    /** How many operations there are. */
    int size() {
        return acts.size();
    }

    /** Does something that leaves no row that is known here. */
    void other(K key, Act a) {
        act(key, a);
    }

    State get(String state) {
        return states.get(state);
    }

    private static String id(String state, String key, String mapKey) {
        return state + "\u0000" + key + "\u0000" + mapKey;
    }

    private String row(String state, String kind, String key, String mapKey, String value) {
        return "{\"operator_uid\":\"" + uid + "\",\"state\":\"" + state + "\",\"kind\":\"" + kind + "\",\"key\":" + key
                + (mapKey == null ? "" : ",\"map_key\":" + mapKey) + ",\"value\":" + value + "}\n";
    }

    /** The rows that a snapshot taken now must hold. */
    String expected() {
        return String.join("", rows.values());
    }

    @Override
    public void open(OpenContext context) {
        states = new HashMap<>();
        shared().descriptors.forEach((name, d) -> states.put(name, register(d)));
    }

    private State register(StateDescriptor<?, ?> d) {
        var c = getRuntimeContext();
        return switch (d.getType()) {
            case VALUE -> c.getState((ValueStateDescriptor<?>) d);
            case LIST -> c.getListState((ListStateDescriptor<?>) d);
            case MAP -> c.getMapState((MapStateDescriptor<?, ?>) d);
            case REDUCING -> c.getReducingState((ReducingStateDescriptor<?>) d);
            case AGGREGATING -> c.getAggregatingState((AggregatingStateDescriptor<?, ?, ?>) d);
            default -> throw new IllegalArgumentException(d.toString());
        };
    }

    @Override
    public void processElement(Long item, Context context, Collector<Void> out) throws Exception {
        shared().acts.get(item.intValue()).apply(this);
        Feed.of(uid).handled.incrementAndGet();
    }
}
