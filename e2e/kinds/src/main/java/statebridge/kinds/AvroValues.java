package statebridge.kinds;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.formats.avro.typeutils.AvroSerializer;
import org.apache.flink.formats.avro.typeutils.AvroTypeInfo;
import org.apache.flink.formats.avro.typeutils.GenericRecordAvroTypeInfo;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import statebridge.kinds.avro.Hash;
import statebridge.kinds.avro.Line_;
import statebridge.kinds.avro.Order;
import statebridge.kinds.avro.Status;

/** Avro: specific with logical types, reflect, generic with a schema of more than 64 kB. */
final class AvroValues {
    private AvroValues() {}

    /** Serialized by reflection. */
    public static class Reflected {
        int count;
        String text;
        List<Long> longs;
        Map<String, Double> scores;
        Shapes.Color color;
        byte[] raw;
        Double maybe = 0.0;

        public Reflected() {}
    }

    static void run(Run r) throws Exception {
        StreamExecutionEnvironment env = r.cluster().environment(2);
        Keyed<String> f = new Keyed<>("avro");
        f.state(new ValueStateDescriptor<>("specific", new AvroTypeInfo<>(Order.class)));
        f.state(new ListStateDescriptor<>("specifics", new AvroTypeInfo<>(Order.class)));
        f.put("specific", "k0", "\"k0\"", order(), ORDER);
        f.add("specifics", "k0", "\"k0\"", order(), ORDER);
        f.add("specifics", "k0", "\"k0\"", order(), ORDER);

        f.state(new ValueStateDescriptor<>("reflect", new AvroSerializer<>(Reflected.class)));
        Reflected reflected = new Reflected();
        reflected.count = -3;
        reflected.text = "täxt";
        reflected.longs = List.of(1L, 2L);
        reflected.scores = Map.of("a", 0.5);
        reflected.color = Shapes.Color.BLUE;
        reflected.raw = new byte[] {1};
        f.put("reflect", "k0", "\"k0\"", reflected, "{\"color\":\"BLUE\",\"count\":-3,\"longs\":[1,2],\"maybe\":0.0,\"raw\":\"AQ==\",\"scores\":{\"a\":0.5},\"text\":\"täxt\"}");

        Schema wide = wide();
        f.state(new ValueStateDescriptor<>("wide", new GenericRecordAvroTypeInfo(wide)));
        f.state(new MapStateDescriptor<>("wides", Types.STRING, new GenericRecordAvroTypeInfo(wide)));
        GenericRecord record = new GenericData.Record(wide);
        StringBuilder json = new StringBuilder();
        for (Map.Entry<String, Integer> e : new TreeMap<>(Map.of("field_0", 0, "field_999", 999, "field_1599", 1599)).entrySet()) {
            record.put(e.getKey(), e.getValue());
        }
        TreeMap<String, String> sorted = new TreeMap<>();
        for (Schema.Field field : wide.getFields()) {
            sorted.put(field.name(), String.valueOf(record.get(field.name())));
        }
        sorted.forEach((k, v) -> json.append(json.isEmpty() ? "{" : ",").append('"').append(k).append("\":").append(v));
        f.put("wide", "k0", "\"k0\"", record, json + "}");
        f.entry("wides", "k1", "\"k1\"", "m", "\"m\"", record, json + "}");
        r.keyed(env, f, Types.STRING);
        r.start(env, null, false);
        r.checkpoint();
        r.savepoint(org.apache.flink.core.execution.SavepointFormatType.CANONICAL);
    }

    private static Schema wide() {
        var fields = SchemaBuilder.record("Wide").namespace("statebridge.kinds.avro").fields();
        for (int i = 0; i < 1600; i++) {
            fields = fields.name("field_" + i).type().nullable().intType().noDefault();
        }
        Schema s = fields.endRecord();
        if (s.toString().length() < 1 << 16) {
            throw new IllegalStateException("the schema has only " + s.toString().length() + " characters");
        }
        return s;
    }

    private static Order order() {
        Order o = new Order();
        o.setId(1L << 50);
        o.setNote(null);
        o.setAt(Instant.ofEpochMilli(1700000000123L));
        o.setDay(LocalDate.of(2024, 2, 29));
        o.setTime(LocalTime.of(12, 0).truncatedTo(ChronoUnit.MILLIS));
        o.setPrice(ByteBuffer.wrap(new BigDecimal("12.34").unscaledValue().toByteArray()));
        o.setStatus(Status.PAID);
        o.setHash(new Hash(new byte[] {1, 2, 3}));
        Line_ last = new Line_("b", 2, null);
        o.setLines(List.of(new Line_("a", 1, last), last));
        o.setAttributes(new TreeMap<>(Map.of("long", 5L, "text", "t", "flag", true, "list", List.of(0.5))));
        o.setEither(ByteBuffer.wrap(new byte[] {9}));
        return o;
    }

    private static final String ORDER = "{\"id\":1125899906842624,\"note\":null,\"at\":1700000000123,\"day\":19782,\"time\":43200000,\"price\":\"BNI=\",\"status\":\"PAID\",\"hash\":\"AQID\","
            + "\"lines\":[{\"sku\":\"a\",\"count\":1,\"next\":{\"sku\":\"b\",\"count\":2,\"next\":null}},{\"sku\":\"b\",\"count\":2,\"next\":null}],"
            + "\"attributes\":{\"flag\":true,\"list\":[0.5],\"long\":5,\"text\":\"t\"},\"either\":\"CQ==\"}";
}
