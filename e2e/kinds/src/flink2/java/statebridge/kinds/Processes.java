package statebridge.kinds;

import java.time.LocalDateTime;
import java.util.concurrent.CompletableFuture;
import java.util.Collection;
import java.util.List;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.ArgumentTrait;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.dataview.ListView;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.AsyncTableFunction;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/** What SQL of Flink 2 has beyond that of Flink 1: process table functions, operators that look things up by key, asynchronous state. */
final class Processes {
    private Processes() {}

    /** States of a process table function, by each way to describe them. */
    public static class Remember extends ProcessTableFunction<String> {
        public static class Memory {
            public long count;
            public String last;
            public Integer[] numbers;
        }

        public void eval(Context c, @StateHint Memory memory, @StateHint(type = @DataTypeHint("ROW<first INT, at TIMESTAMP(3), price DECIMAL(10, 2)>"), ttl = "1 day") Row row,
                @StateHint ListView<String> log, @StateHint MapView<String, Integer> seen,
                @ArgumentHint({ArgumentTrait.SET_SEMANTIC_TABLE, ArgumentTrait.REQUIRE_ON_TIME}) Row input) throws Exception {
            memory.count++;
            memory.last = input.getFieldAs("k");
            memory.numbers = new Integer[] {input.<Integer>getFieldAs("v"), null};
            row.setField("first", input.getField("v"));
            row.setField("at", input.getField("ts"));
            row.setField("price", input.getField("d"));
            log.add("v" + input.getField("v"));
            seen.put("k" + input.getField("v"), input.<Integer>getFieldAs("v"));
            c.timeContext(LocalDateTime.class).registerOnTime(LocalDateTime.of(2030, 1, 1, 0, 0));
            c.timeContext(LocalDateTime.class).registerOnTime("by name", LocalDateTime.of(2031, 1, 1, 0, 0));
        }

        public void onTimer(Memory memory, Row row, ListView<String> log, MapView<String, Integer> seen) {
            collect("time");
        }
    }

    /** Never answers for odd numbers. */
    public static class Explode extends AsyncTableFunction<Integer> {
        public void eval(CompletableFuture<Collection<Integer>> answer, Integer v) {
            if (v % 2 == 0) {
                answer.complete(List.of(v, v + 1));
            }
        }
    }

    static void add(Sql s) {
        s.tables.createTemporarySystemFunction("remember", Remember.class);
        s.tables.createTemporarySystemFunction("explode", Explode.class);
        s.query("SELECT * FROM remember(input => TABLE L PARTITION BY k, on_time => DESCRIPTOR(ts), uid => 'remember')",
                "SELECT id, x FROM LP, LATERAL TABLE(explode(v)) AS t(x)");
        s.set("table.exec.async-lookup.key-ordered-enabled", "true", "table.exec.async-lookup.output-mode", "ALLOW_UNORDERED");
        s.query("SELECT S.id, S.k, D.name FROM UP AS S LEFT JOIN dim_async FOR SYSTEM_TIME AS OF S.p AS D ON S.id = D.id");
        s.set("table.exec.async-state.enabled", "true");
        s.query("SELECT k, COUNT(*), SUM(v), COUNT(DISTINCT d) FROM LP GROUP BY k", "SELECT LP.id, RP.d FROM LP LEFT JOIN RP ON LP.k = RP.k",
                "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS rn FROM LP) WHERE rn <= 2",
                "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS rn FROM L) WHERE rn = 1",
                "SELECT k, window_start, COUNT(*), SUM(d) FROM TABLE(TUMBLE(TABLE L, DESCRIPTOR(ts), INTERVAL '30' SECOND)) GROUP BY k, window_start, window_end");
        s.set("table.exec.async-state.enabled", "false");
        delta(s);
    }

    /** A join of two tables that are looked up on both sides, and kept on none. */
    private static void delta(Sql s) {
        for (String name : new String[] {"D1", "D2"}) {
            Schema schema = Schema.newBuilder().column("id", "BIGINT NOT NULL").column("name", "STRING").primaryKey("id").index("id").build();
            s.tables.createTable(name, TableDescriptor.forConnector("dim").schema(schema).option("how", "async").option("feed", name).build());
            for (long id = 0; id < 5; id++) {
                Feed.of(name).add(id);
            }
        }
        s.tables.executeSql("CREATE TABLE nowhere (id BIGINT, a STRING, b STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'blackhole')");
        s.set("table.optimizer.delta-join.strategy", "FORCE");
        StreamStatementSet set = s.tables.createStatementSet();
        set.addInsertSql("INSERT INTO nowhere SELECT D1.id, D1.name, D2.name FROM D1 JOIN D2 ON D1.id = D2.id");
        set.attachAsDataStream();
    }
}
