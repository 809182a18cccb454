package statebridge.kinds;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Period;
import java.time.Year;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** What Kryo writes of classes whose form is known, under a key of its own each: of an Object, and of its own class. */
final class KryoValues {
    private KryoValues() {}

    private static Keyed<String> f;

    private static void add(Object o, String json) {
        String key = "k" + f.size();
        f.put("any", key, "\"" + key + "\"", o, json);
    }

    static void run(Run r) throws Exception {
        StreamExecutionEnvironment env = r.cluster().environment(2);
        f = new Keyed<>("kryo");
        f.state(new ValueStateDescriptor<>("any", new GenericTypeInfo<>(Object.class)));
        f.state(new ListStateDescriptor<>("anys", new GenericTypeInfo<>(Object.class)));
        values();
        f.add("anys", "k0", "\"k0\"", "a,b", "\"a,b\"");
        f.add("anys", "k0", "\"k0\"", new ArrayList<>(List.of(1, "x")), "[1,\"x\"]");
        r.keyed(env, f, Types.STRING);
        r.start(env, null, false);
        r.checkpoint();
        r.savepoint(org.apache.flink.core.execution.SavepointFormatType.CANONICAL);
    }

    private static void values() {
        add("text", "\"text\"");
        add(5, "5");
        add(-5L, "-5");
        add(0.5f, "0.5");
        add(Double.NEGATIVE_INFINITY, "\"-Infinity\"");
        add('c', "\"c\"");
        add((short) -3, "-3");
        add((byte) 4, "4");
        add(true, "true");
        add(new BigInteger("-123456789012345678901234567890"), "\"-123456789012345678901234567890\"");
        add(new BigDecimal("0.00"), "\"0.00\"");
        add(new UUID(-1, 5), "\"ffffffff-ffff-ffff-0000-000000000005\"");
        add(Instant.ofEpochSecond(-1, 999), "\"1969-12-31T23:59:59.000000999Z\"");
        add(LocalDate.of(-1, 1, 2), "\"-0001-01-02\"");
        add(LocalTime.of(1, 2, 3, 4), "\"01:02:03.000000004\"");
        add(LocalDateTime.of(2024, 12, 31, 23, 59), "\"2024-12-31T23:59:00\"");
        add(new java.util.Date(5), "\"1970-01-01T00:00:00.005Z\"");
        add(new java.sql.Timestamp(1234), "\"1970-01-01T00:00:01.234Z\"");
        add(new ArrayList<>(Arrays.asList(1, null, "x")), "[1,null,\"x\"]");
        add(new LinkedList<>(List.of(List.copyOf(List.of(1, 2)))), "[[1,2]]");
        add(new ArrayDeque<>(List.of("q")), "[\"q\"]");
        add(Arrays.asList("a", "b"), "[\"a\",\"b\"]");
        add(Collections.emptyList(), "[]");
        add(Collections.singletonList(1L), "[1]");
        add(new HashSet<>(), "[]");
        add(new TreeSet<>(List.of(3, 1)), "[1,3]");
        add(new HashMap<>(Map.of("k", new HashMap<>(Map.of("n", 1)))), "{\"k\":{\"n\":1}}");
        add(new LinkedHashMap<>(Map.of(1, "one")), "[[1,\"one\"]]");
        add(new TreeMap<>(Map.of("b", 2, "a", 1)), "{\"a\":1,\"b\":2}");
        add(new int[] {1, -1}, "[1,-1]");
        add(new byte[] {1, 2}, "\"AQI=\"");
        add(new double[] {0.25}, "[0.25]");
        add(new String[] {"a", null}, "[\"a\",null]");
        add(new Object[] {1, "x", null, new long[] {7}}, "[1,\"x\",null,[7]]");
        add(new Integer[] {1, null}, "[1,null]");
        String shared = "shared";
        add(new ArrayList<>(List.of(shared, shared, new ArrayList<>(List.of(shared)))), "[\"shared\",\"shared\",[\"shared\"]]");
        List<Object> twice = new ArrayList<>(List.of(1));
        add(new ArrayList<>(List.of(twice, twice)), "[[1],[1]]");
        add(Optional.of("o"), "\"o\"");
        add(Optional.empty(), "null");
        add(new StringBuilder("sb"), "\"sb\"");
        add(java.net.URI.create("http://a/b"), "\"http://a/b\"");
        add(List.of(1, 2, 3), "[1,2,3]");
        add(Map.of("x", 1), "{\"x\":1}");
        add(java.util.Currency.getInstance("EUR"), "\"EUR\"");
        add(new java.util.concurrent.atomic.AtomicInteger(4), "4");
        add(new java.util.concurrent.atomic.AtomicLong(5), "5");
        add(java.time.DayOfWeek.MONDAY, "\"MONDAY\"");
        add(java.util.concurrent.TimeUnit.SECONDS, "\"SECONDS\"");
        add(Collections.unmodifiableMap(new HashMap<>(Map.of("u", 1))), "{\"u\":1}");
        add(Collections.unmodifiableList(new ArrayList<>(List.of(1))), "[1]");
        add(new java.util.concurrent.ConcurrentHashMap<>(Map.of("c", 1)), "{\"c\":1}");
        add(new java.util.Vector<>(List.of(1)), "[1]");
        add(new java.util.PriorityQueue<>(List.of(2)), "[2]");
        add(java.util.TimeZone.getTimeZone("Europe/Berlin"), "\"Europe/Berlin\"");
        if (EnvironmentInformation.getVersion().startsWith("2")) { // Kryo 5 has serializers for these
            add(Duration.ofSeconds(90, 5), "\"PT1M30.000000005S\"");
            add(Duration.ofMillis(-3600500), "\"PT-1H-0.5S\"");
            add(Period.of(1, 0, 3), "\"P1Y3D\"");
            add(Year.of(2024), "2024");
        }
    }
}
