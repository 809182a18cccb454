package statebridge.kinds;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.BasicArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple0;
import org.apache.flink.api.java.tuple.Tuple1;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.api.java.typeutils.EitherTypeInfo;
import org.apache.flink.api.java.typeutils.ObjectArrayTypeInfo;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.api.java.typeutils.ValueTypeInfo;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.types.BooleanValue;
import org.apache.flink.types.DoubleValue;
import org.apache.flink.types.Either;
import org.apache.flink.types.IntValue;
import org.apache.flink.types.LongValue;
import org.apache.flink.types.NullValue;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.types.StringValue;
import statebridge.kinds.Shapes.Box;
import statebridge.kinds.Shapes.Circle;
import statebridge.kinds.Shapes.Color;
import statebridge.kinds.Shapes.Point;
import statebridge.kinds.Shapes.Shape;
import statebridge.kinds.Shapes.Square;

/** One state a serializer, and operators with keys of several types. */
final class Values {
    static final String SHAPE = "\"$class\":\"statebridge.kinds.Shapes$Shape\"", SQUARE = "\"$class\":\"statebridge.kinds.Shapes$Square\"", CIRCLE = "\"$class\":\"statebridge.kinds.Shapes$Circle\"";

    private final Keyed<String> f = new Keyed<>("values");

    /** Adds a value state and puts pairs of a value and its JSON under keys of its own. */
    @SuppressWarnings("unchecked")
    <T> void value(String name, TypeInformation<T> type, Object... pairs) {
        f.state(new ValueStateDescriptor<>(name, type));
        for (int i = 0; i < pairs.length; i += 2) {
            String key = "k" + i / 2;
            f.put(name, key, "\"" + key + "\"", (T) pairs[i], (String) pairs[i + 1]);
        }
    }

    static void run(Run r) throws Exception {
        StreamExecutionEnvironment env = r.cluster().environment(2);
        ((SerializerConfigImpl) env.getConfig().getSerializerConfig()).registerPojoType(Circle.class);
        Values v = new Values();
        v.arrays();
        v.composites();
        v.pojos();
        v.collections();
        r.keyed(env, v.f, Types.STRING);
        keys(r, env);
        r.start(env, null, false);
        r.checkpoint();
        r.savepoint(org.apache.flink.core.execution.SavepointFormatType.CANONICAL);
        r.savepoint(org.apache.flink.core.execution.SavepointFormatType.NATIVE);
    }

    private void arrays() {
        value("long_arrays", ObjectArrayTypeInfo.getInfoFor(Types.PRIMITIVE_ARRAY(Types.LONG)), new long[][] {{1, -2}, {}, null}, "[[1,-2],[],null]");
        value("string_grid", ObjectArrayTypeInfo.getInfoFor(BasicArrayTypeInfo.STRING_ARRAY_TYPE_INFO), new String[][] {{"a", null, "é"}, null, {}}, "[[\"a\",null,\"é\"],null,[]]");
        value("byte_arrays", ObjectArrayTypeInfo.getInfoFor(Types.PRIMITIVE_ARRAY(Types.BYTE)), new byte[][] {{1, 2, 3}, {}, null}, "[\"AQID\",\"\",null]");
        value("booleans", BasicArrayTypeInfo.BOOLEAN_ARRAY_TYPE_INFO, new Boolean[] {true, null, false}, "[true,null,false]");
        value("bytes_boxed", BasicArrayTypeInfo.BYTE_ARRAY_TYPE_INFO, new Byte[] {1, null, -128}, "[1,null,-128]");
        value("doubles_boxed", BasicArrayTypeInfo.DOUBLE_ARRAY_TYPE_INFO, new Double[] {0.5, null, Double.NaN, -0.0}, "[0.5,null,\"NaN\",-0.0]");
        value("chars_boxed", BasicArrayTypeInfo.CHAR_ARRAY_TYPE_INFO, new Character[] {'x', null, 'ß'}, "[\"x\",null,\"ß\"]");
        value("decimals", ObjectArrayTypeInfo.getInfoFor(Types.BIG_DEC), new BigDecimal[] {new BigDecimal("1.50"), null, new BigDecimal("-1E+3")}, "[\"1.50\",null,\"-1E+3\"]");
        value("instants", ObjectArrayTypeInfo.getInfoFor(Types.INSTANT), new Instant[] {Instant.EPOCH, null}, "[\"1970-01-01T00:00:00Z\",null]");
        value("shapes", ObjectArrayTypeInfo.getInfoFor(TypeInformation.of(Shape.class)),
                new Shape[] {new Shape(1, "one"), null, new Circle(2, null, 2.5, Color.BLUE)},
                "[{" + SHAPE + ",\"id\":1,\"name\":\"one\"},null,{" + CIRCLE + ",\"color\":\"BLUE\",\"id\":2,\"name\":null,\"radius\":2.5}]");
    }

    private void composites() {
        value("tuple0", TupleTypeInfo.<Tuple0>of(Tuple0.class), Tuple0.INSTANCE, "[]");
        value("tuple1", Types.TUPLE(Types.STRING), Tuple1.of("one"), "[\"one\"]");
        value("tuple5", Types.TUPLE(Types.BIG_INT, Types.SQL_DATE, Types.LIST(Types.TUPLE(Types.INT, Types.STRING)), Types.BOOLEAN, Types.ENUM(Color.class)),
                Tuple5.of(BigInteger.TEN.pow(30), java.sql.Date.valueOf("2024-02-29"), List.of(Tuple2.of(1, "x"), Tuple2.of(2, "")), false, Color.GREEN),
                "[\"1000000000000000000000000000000\",\"2024-02-29T00:00:00Z\",[[1,\"x\"],[2,\"\"]],false,\"GREEN\"]");
        var inner = Types.ROW_NAMED(new String[] {"a", "b"}, Types.INT, Types.STRING);
        var row = Types.ROW_NAMED(new String[] {"id", "in", "list", "map", "at", "bytes"}, Types.LONG, inner, Types.LIST(Types.INT), Types.MAP(Types.STRING, inner),
                Types.LOCAL_DATE_TIME, Types.PRIMITIVE_ARRAY(Types.BYTE));
        Row full = Row.of(7L, Row.of(1, null), List.of(1, 2), Map.of("m", Row.of(null, "z")), LocalDateTime.of(2024, 1, 2, 3, 4, 5, 600), new byte[] {9});
        value("row", row, full, "[7,[1,null],[1,2],{\"m\":[null,\"z\"]},\"2024-01-02T03:04:05.0000006\",\"CQ==\"]",
                Row.ofKind(RowKind.DELETE, null, null, null, null, null, null), "[null,null,null,null,null,null]",
                Row.ofKind(RowKind.UPDATE_AFTER, 1L, Row.of(2, "n"), null, null, null, null), "[1,[2,\"n\"],null,null,null,null]");
        var nine = Types.ROW(Types.INT, Types.INT, Types.INT, Types.INT, Types.INT, Types.INT, Types.INT, Types.INT, Types.INT, Types.STRING);
        value("row10", nine, Row.of(1, null, 3, null, 5, null, 7, null, 9, null), "[1,null,3,null,5,null,7,null,9,null]",
                Row.of(null, 2, null, 4, null, 6, null, 8, null, "ten"), "[null,2,null,4,null,6,null,8,null,\"ten\"]");
        value("either", new EitherTypeInfo<>(Types.TUPLE(Types.STRING, Types.INT), new EitherTypeInfo<>(Types.LONG, Types.STRING)),
                Either.Left(Tuple2.of("l", 1)), "{\"left\":[\"l\",1]}", Either.Right(Either.Left(5L)), "{\"right\":{\"left\":5}}",
                Either.Right(Either.Right("r")), "{\"right\":{\"right\":\"r\"}}");
        value("string_value", ValueTypeInfo.STRING_VALUE_TYPE_INFO, new StringValue("välue"), "\"välue\"", new StringValue(""), "\"\"");
        value("int_value", ValueTypeInfo.INT_VALUE_TYPE_INFO, new IntValue(-5), "-5");
        value("long_value", ValueTypeInfo.LONG_VALUE_TYPE_INFO, new LongValue(1L << 60), "1152921504606846976");
        value("double_value", ValueTypeInfo.DOUBLE_VALUE_TYPE_INFO, new DoubleValue(1e-300), "1e-300");
        value("boolean_value", ValueTypeInfo.BOOLEAN_VALUE_TYPE_INFO, new BooleanValue(true), "true");
        value("null_value", ValueTypeInfo.NULL_VALUE_TYPE_INFO, NullValue.getInstance(), "null");
        f.state(new ListStateDescriptor<>("rows", row));
        f.add("rows", "k0", "\"k0\"", full, "[7,[1,null],[1,2],{\"m\":[null,\"z\"]},\"2024-01-02T03:04:05.0000006\",\"CQ==\"]");
        f.add("rows", "k0", "\"k0\"", Row.ofKind(RowKind.UPDATE_BEFORE, null, null, null, null, null, null), "[null,null,null,null,null,null]");
        f.state(new MapStateDescriptor<>("by_tuple", Types.TUPLE(Types.STRING, Types.LONG), Types.LIST(Types.STRING)));
        f.entry("by_tuple", "k0", "\"k0\"", Tuple2.of("a", 1L), "[\"a\",1]", List.of("x", ",", ""), "[\"x\",\",\",\"\"]");
        f.entry("by_tuple", "k0", "\"k0\"", Tuple2.of("a", 2L), "[\"a\",2]", List.of(), "[]");
    }

    private static Box box() {
        Box b = new Box();
        b.top = new Square(3, "sq", new long[] {1, 2});
        b.shapes = new Shape[] {new Circle(5, "c", 1, Color.RED), null};
        b.grid = new String[][] {{"x"}, {}};
        b.boxed = new Integer[] {1, 2};
        b.raw = new byte[] {0, -1};
        b.big = BigInteger.valueOf(-77);
        b.price = new BigDecimal("12.340");
        b.at = Instant.ofEpochSecond(1700000000L, 5);
        b.day = LocalDate.of(1969, 12, 31);
        b.id = new UUID(1, 2);
        b.color = Color.GREEN;
        b.any = "anything";
        b.longs = new java.util.ArrayList<>(List.of(1L, 1L << 40));
        b.scores = new HashMap<>(Map.of("s", 0.25));
        b.letter = 'q';
        b.ratio = 0.1f;
        return b;
    }

    static final String BOX = "{\"any\":\"anything\",\"at\":\"2023-11-14T22:13:20.000000005Z\",\"big\":\"-77\",\"boxed\":[1,2],\"color\":\"GREEN\",\"day\":\"1969-12-31\",\"flag\":%s,"
            + "\"grid\":[[\"x\"],[]],\"id\":\"00000000-0000-0001-0000-000000000002\",\"letter\":\"q\",\"longs\":[1,1099511627776],\"price\":\"12.340\","
            + "\"ratio\":0.1,\"raw\":\"AP8=\",\"scores\":{\"s\":0.25},\"shapes\":[{" + CIRCLE + ",\"color\":\"RED\",\"id\":5,\"name\":\"c\",\"radius\":1.0},null],"
            + "\"top\":{" + SQUARE + ",\"id\":3,\"name\":\"sq\",\"sides\":[1,2]}}";

    private void pojos() {
        value("shape", TypeInformation.of(Shape.class), new Shape(1, "plain"), "{" + SHAPE + ",\"id\":1,\"name\":\"plain\"}",
                new Circle(2, "reg", 1.5, Color.RED), "{" + CIRCLE + ",\"color\":\"RED\",\"id\":2,\"name\":\"reg\",\"radius\":1.5}",
                new Square(3, "unreg", new long[] {4}),
                "{" + SQUARE + ",\"id\":3,\"name\":\"unreg\",\"sides\":[4]}");
        Box outer = box();
        outer.flag = true;
        value("box", TypeInformation.of(Box.class), outer, BOX.formatted("true"));
        value("point", TypeInformation.of(Point.class), new Point(1, "p", null), "{\"label\":\"p\",\"weight\":null,\"x\":1}");
        f.state(new MapStateDescriptor<>("by_point", TypeInformation.of(Point.class), TypeInformation.of(Shape.class)));
        f.entry("by_point", "k0", "\"k0\"", new Point(-1, "", 3L), "{\"label\":\"\",\"weight\":3,\"x\":-1}", new Circle(6, "v", -0.0, Color.BLUE),
                "{" + CIRCLE + ",\"color\":\"BLUE\",\"id\":6,\"name\":\"v\",\"radius\":-0.0}");
        f.state(new ListStateDescriptor<>("shape_list", TypeInformation.of(Shape.class)));
        f.add("shape_list", "k1", "\"k1\"", new Square(7, "l", new long[0]), "{" + SQUARE + ",\"id\":7,\"name\":\"l\",\"sides\":[]}");
        f.add("shape_list", "k1", "\"k1\"", new Shape(8, ","), "{" + SHAPE + ",\"id\":8,\"name\":\",\"}");
    }

    private void collections() {
        value("list_of_maps", Types.LIST(Types.MAP(Types.LONG, Types.LIST(Types.DOUBLE))), List.of(Map.of(1L, List.of(0.5)), Map.of()), "[[[1,[0.5]]],{}]");
        Map<String, Integer> nulls = new HashMap<>();
        nulls.put("a", null);
        value("map_nulls", Types.MAP(Types.STRING, Types.INT), nulls, "{\"a\":null}", Map.of(), "{}");
        value("enum_map", Types.MAP(Types.ENUM(Color.class), Types.ENUM(Color.class)), Map.of(Color.RED, Color.BLUE), "{\"RED\":\"BLUE\"}");
        Line.more(this);
    }

    private static void keys(Run r, StreamExecutionEnvironment env) {
        key(r, env, "key-row", Types.ROW(Types.INT, Types.STRING), Row.of(1, "a"), "[1,\"a\"]", Row.of(null, null), "[null,null]");
        key(r, env, "key-point", TypeInformation.of(Point.class), new Point(5, "k", 6L), "{\"label\":\"k\",\"weight\":6,\"x\":5}", new Point(5, "", null), "{\"label\":\"\",\"weight\":null,\"x\":5}");
        key(r, env, "key-shape", TypeInformation.of(Shape.class), new Circle(9, "key", 3, Color.RED), "{" + CIRCLE + ",\"color\":\"RED\",\"id\":9,\"name\":\"key\",\"radius\":3.0}",
                new Square(10, "key", new long[] {1}), "{" + SQUARE + ",\"id\":10,\"name\":\"key\",\"sides\":[1]}");
        key(r, env, "key-either", new EitherTypeInfo<>(Types.STRING, Types.LONG), Either.Left("l"), "{\"left\":\"l\"}", Either.Right(3L), "{\"right\":3}");
        key(r, env, "key-decimal", Types.BIG_DEC, new BigDecimal("1.10"), "\"1.10\"", new BigDecimal("-7"), "\"-7\"");
        key(r, env, "key-nested", Types.TUPLE(Types.TUPLE(Types.STRING, Types.INT), Types.BOOLEAN, Types.INSTANT), new org.apache.flink.api.java.tuple.Tuple3<>(Tuple2.of("n", 1), true, Instant.ofEpochMilli(1)),
                "[[\"n\",1],true,\"1970-01-01T00:00:00.001Z\"]");
    }

    @SuppressWarnings("unchecked")
    private static <K> void key(Run r, StreamExecutionEnvironment env, String uid, TypeInformation<K> type, Object... pairs) {
        Keyed<K> k = new Keyed<>(uid);
        k.state(new ValueStateDescriptor<>("v", Types.INT));
        k.state(new MapStateDescriptor<>("m", Types.STRING, Types.INT));
        k.state(new ListStateDescriptor<>("l", Types.STRING));
        for (int i = 0; i < pairs.length; i += 2) {
            K key = (K) pairs[i];
            String json = (String) pairs[i + 1];
            k.put("v", key, json, i, "" + i);
            k.entry("m", key, json, "x", "\"x\"", 1, "1");
            if (r.settings.get("state.backend.type").equals("rocksdb")) { // Flink cannot write a null in a map into a canonical savepoint of the heap backend
                k.entry("m", key, json, "", "\"\"", null, "null");
            }
            k.add("l", key, json, ",", "\",\"");
            k.add("l", key, json, "", "\"\"");
        }
        r.keyed(env, k, type);
    }
}
