package statebridge.kinds;

import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/** Every stateful operator of Flink SQL at once, each fed by a handful of rows. */
final class Sql {
    private static final Map<String, List<Row>> ROWS = new LinkedHashMap<>();
    private static final TypeInformation<Row> TYPE = Types.ROW_NAMED(new String[] {"id", "k", "v", "d", "ts"},
            Types.LONG, Types.STRING, Types.INT, Types.BIG_DEC, Types.LOCAL_DATE_TIME);

    private final StreamExecutionEnvironment env;
    final StreamTableEnvironment tables;

    Sql(StreamExecutionEnvironment env) {
        this.env = env;
        tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("table.local-time-zone", "UTC");
        tables.getConfig().set("table.exec.uid.generation", "ALWAYS");
    }

    private static Row row(RowKind kind, long id, String k, int v, String d, int second) {
        return Row.ofKind(kind, id, k, v, d == null ? null : new BigDecimal(d), LocalDateTime.of(2026, 1, 1, 0, 0, second));
    }

    private static void put(String table, Row... rows) {
        ROWS.put(table, List.of(rows));
    }

    static void rows() {
        RowKind add = RowKind.INSERT, before = RowKind.UPDATE_BEFORE, after = RowKind.UPDATE_AFTER, delete = RowKind.DELETE;
        put("L", row(add, 1, "a", 10, "1.50", 1), row(add, 2, "b", 20, null, 2), row(add, 3, "a", 30, "3.25", 3), row(add, 4, "c", 5, "4.00", 12),
                row(add, 5, "a", 30, "5.00", 21), row(add, 6, "a long key, past 7 bytes", 7, "6.00", 22), row(add, 1, "a", 11, "1.75", 23));
        put("R", row(add, 1, "a", 100, "10.00", 2), row(add, 2, "c", 200, "20.00", 11), row(add, 3, "d", 300, null, 12), row(add, 4, "a", 400, "40.00", 22),
                row(add, 5, "e", 500, "50.00", 23));
        put("U", row(add, 1, "a", 1, "1.00", 1), row(add, 2, "a", 2, "2.00", 1), row(add, 3, "b", 3, "3.00", 1), row(add, 4, "a", 9, "9.00", 1),
                row(before, 4, "a", 9, "9.00", 1), row(after, 4, "a", 4, "4.00", 1), row(delete, 2, "a", 2, "2.00", 1));
        put("P", row(after, 1, "x", 1, "1.00", 1), row(after, 2, "y", 2, null, 1), row(after, 1, "z", 3, "3.00", 2), row(delete, 2, "y", 2, null, 2), row(after, 3, "x", 4, "4.00", 3));
        put("V", row(after, 1, "a", 1, "1.10", 0), row(after, 2, "b", 1, "2.20", 0), row(after, 1, "a", 2, "1.20", 10), row(after, 4, "c", 1, "4.40", 11), row(after, 1, "a", 3, "1.30", 23));
    }

    DataStream<Row> stream(String name) {
        return env.addSource(new FeedSource(name), name, Types.LONG).setParallelism(1).uid("source-" + name).map(i -> {
            Feed.of(name).handled.incrementAndGet();
            return ROWS.get(name).get(i.intValue());
        }, TYPE).setParallelism(1).uid("rows-" + name);
    }

    private static Schema.Builder columns(boolean keyed) {
        return Schema.newBuilder().column("id", keyed ? "BIGINT NOT NULL" : "BIGINT").column("k", "STRING").column("v", "INT").column("d", "DECIMAL(10, 2)").column("ts", "TIMESTAMP(3)");
    }

    void sources() {
        for (String t : new String[] {"L", "R"}) {
            tables.createTemporaryView(t, tables.fromDataStream(stream(t),
                    columns(false).columnByExpression("p", "PROCTIME()").watermark("ts", "ts - INTERVAL '1' SECOND").build()));
            tables.createTemporaryView(t + "P", tables.sqlQuery("SELECT id, k, v, d FROM " + t));
        }
        tables.createTemporaryView("U", tables.fromChangelogStream(stream("U"), columns(false).build(), ChangelogMode.all()));
        tables.createTemporaryView("P", tables.fromChangelogStream(stream("P"), columns(true).primaryKey("id").build(), ChangelogMode.upsert()));
        tables.createTemporaryView("V", tables.fromChangelogStream(stream("V"),
                columns(true).primaryKey("id").watermark("ts", "ts - INTERVAL '1' SECOND").build(), ChangelogMode.upsert()));
    }

    void query(String... queries) {
        for (String q : queries) {
            Line.discard(tables.toChangelogStream(tables.sqlQuery(q)));
        }
    }

    private void upsert(String q, String pk, String... options) {
        set(options);
        Schema s = Schema.newBuilder().column("id", "BIGINT NOT NULL").column("k", "STRING NOT NULL").column("v", "INT").primaryKey(pk).build();
        Line.discard(tables.toChangelogStream(tables.sqlQuery(q), s, ChangelogMode.upsert()));
    }

    void set(String... options) {
        for (int i = 0; i + 1 < options.length; i += 2) {
            tables.getConfig().set(options[i], options[i + 1]);
        }
    }

    private void joins() {
        query("SELECT LP.id, LP.v, RP.d FROM LP LEFT JOIN RP ON LP.k = RP.k",
                "SELECT LP.id, LP.v, RP.d FROM LP RIGHT JOIN RP ON LP.k = RP.k AND RP.v > 100",
                "SELECT LP.id, LP.v, RP.d FROM LP FULL JOIN RP ON LP.k = RP.k",
                "SELECT P.id, P.v, RP.d FROM P LEFT JOIN RP ON P.id = RP.id",
                "SELECT * FROM LP WHERE EXISTS (SELECT * FROM RP WHERE RP.k = LP.k)",
                "SELECT * FROM LP WHERE k NOT IN (SELECT k FROM RP)",
                "SELECT LP.id FROM LP, RP WHERE LP.v * 10 > RP.v",
                "SELECT L.id, L.d * V.d FROM L LEFT JOIN V FOR SYSTEM_TIME AS OF L.ts ON L.id = V.id",
                "SELECT L.id, R.d FROM L, R WHERE L.k = R.k AND L.ts BETWEEN R.ts - INTERVAL '2' SECOND AND R.ts + INTERVAL '3' SECOND",
                "SELECT L.id, R.d FROM L LEFT JOIN R ON L.k = R.k AND L.p BETWEEN R.p - INTERVAL '1' HOUR AND R.p + INTERVAL '1' HOUR",
                "SELECT id, k FROM LP INTERSECT SELECT id, k FROM RP", "SELECT id, k FROM LP EXCEPT SELECT id, k FROM RP");
    }

    private void over() {
        String[] frames = {"ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"};
        for (String time : new String[] {"ts", "p"}) {
            for (String f : frames) {
                query("SELECT id, SUM(v) OVER w, COUNT(d) OVER w, MAX(d) OVER w FROM L WINDOW w AS (PARTITION BY k ORDER BY " + time + " " + f + ")");
            }
        }
        query("SELECT id, LAG(v) OVER (PARTITION BY k ORDER BY ts), COUNT(DISTINCT v) OVER (PARTITION BY k ORDER BY ts) FROM L");
        if (!Line.OVER_ANY_COLUMN) {
            return;
        }
        query("SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM LP", "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM U");
    }

    private void ranks() {
        String number = "SELECT %s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY %s ORDER BY %s) AS rn FROM %s) WHERE %s";
        query(number.formatted("*", "k", "v DESC", "LP", "rn <= 2"), number.formatted("id, k, v", "k", "v", "LP", "rn BETWEEN 2 AND 3"),
                number.formatted("*", "k", "v", "LP", "rn = 1"),
                number.formatted("*", "k", "c DESC", "(SELECT k, id, COUNT(*) AS c FROM LP GROUP BY k, id)", "rn <= 2"),
                number.formatted("*", "k", "v DESC", "U", "rn <= 2"), number.formatted("*", "k", "v DESC", "U", "rn <= v"),
                number.formatted("id, k, v", "k", "p", "L", "rn = 1"), number.formatted("id, k, v", "k", "p DESC", "L", "rn = 1"),
                number.formatted("id, k, v", "k", "ts", "L", "rn = 1"), number.formatted("id, k, v", "k", "ts DESC", "L", "rn = 1"),
                "SELECT id, k FROM LP ORDER BY v DESC LIMIT 3", "SELECT * FROM LP LIMIT 2", "SELECT id, k, v, ts FROM L ORDER BY ts, v");
    }

    private void aggregates() {
        query("SELECT k, COUNT(*), SUM(v), AVG(d), MIN(v), MAX(d) FROM LP GROUP BY k",
                "SELECT k, COUNT(DISTINCT v), SUM(DISTINCT v) FILTER (WHERE id > 1), COUNT(DISTINCT id) FROM LP GROUP BY k",
                "SELECT k, LISTAGG(CAST(v AS STRING), ';'), FIRST_VALUE(d), LAST_VALUE(d) FROM LP GROUP BY k",
                "SELECT k, LISTAGG(CAST(v AS STRING), ';'), FIRST_VALUE(v), LAST_VALUE(d) FROM U GROUP BY k",
                "SELECT k, MIN(v), MAX(d), COUNT(DISTINCT v), SUM(v), AVG(v) FROM U GROUP BY k",
                "SELECT k, COLLECT(v), ARRAY_AGG(d), JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE v), JSON_ARRAYAGG(v), STDDEV_POP(v), SINGLE_VALUE(k) FROM LP GROUP BY k, id, v",
                "SELECT k, ARRAY_AGG(v), COLLECT(k) FROM U GROUP BY k", "SELECT DISTINCT k, v FROM LP", "SELECT COUNT(*), SUM(v) FROM LP",
                "SELECT k, v, COUNT(*) FROM LP GROUP BY GROUPING SETS ((k), (v))");
    }

    private void windows() {
        String size = "TABLE L, DESCRIPTOR(ts), ";
        String[] assigners = {"TUMBLE(" + size + "INTERVAL '30' SECOND)", "HOP(" + size + "INTERVAL '15' SECOND, INTERVAL '30' SECOND)",
            "CUMULATE(" + size + "INTERVAL '15' SECOND, INTERVAL '30' SECOND)"};
        for (String w : assigners) {
            query("SELECT k, window_start, COUNT(*), SUM(d), COUNT(DISTINCT v), MAX(v) FROM TABLE(" + w + ") GROUP BY k, window_start, window_end");
        }
        query("SELECT k, window_start, COUNT(*), MIN(v) FROM TABLE(SESSION(TABLE L PARTITION BY k, DESCRIPTOR(ts), INTERVAL '15' SECOND)) GROUP BY k, window_start, window_end",
                "SELECT k, window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE L, DESCRIPTOR(p), INTERVAL '1' DAY)) GROUP BY k, window_start, window_end");
        String tumble = "TABLE(TUMBLE(TABLE %s, DESCRIPTOR(ts), INTERVAL '30' SECOND))";
        String number = "SELECT * FROM (SELECT id, k, v, window_start, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY %s) AS rn FROM " + tumble.formatted("L") + ") WHERE rn <= %d";
        query(number.formatted("v DESC", 2), number.formatted("ts", 1), number.formatted("ts DESC", 1),
                "SELECT l.id, r.v FROM (SELECT * FROM " + tumble.formatted("L") + ") l JOIN (SELECT * FROM " + tumble.formatted("R")
                        + ") r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end",
                "SELECT l.id FROM (SELECT * FROM " + tumble.formatted("L") + ") l WHERE l.k NOT IN (SELECT k FROM (SELECT * FROM " + tumble.formatted("R")
                        + ") r WHERE l.window_start = r.window_start AND l.window_end = r.window_end)",
                "SELECT k, COUNT(*), SUM(v) FROM L GROUP BY k, TUMBLE(ts, INTERVAL '30' SECOND)", "SELECT k, COUNT(DISTINCT v), TUMBLE_START(p, INTERVAL '1' DAY) FROM L GROUP BY k, TUMBLE(p, INTERVAL '1' DAY)",
                "SELECT k, COUNT(*), MAX(v) FROM L GROUP BY k, HOP(ts, INTERVAL '15' SECOND, INTERVAL '30' SECOND)", "SELECT k, COUNT(*), MAX(v) FROM L GROUP BY k, SESSION(ts, INTERVAL '15' SECOND)");
    }

    private void rest() {
        query("SELECT * FROM P", "SELECT k, COUNT(*) FROM P GROUP BY k");
        query("SELECT * FROM L MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS aid, LAST(B.v) AS bv ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
                + "PATTERN (A B* C) DEFINE A AS A.v > 0, B AS B.v >= 20, C AS C.v > 1000) AS m");
        for (String how : new String[] {"MAP", "VALUE", "ADAPTIVE", "LEGACY"}) {
            upsert("SELECT id, COALESCE(k, ''), v FROM U", "k", "table.exec.sink.upsert-materialize", "FORCE", "table.exec.sink.upsert-materialize-strategy.type", how);
        }
        upsert("SELECT P.id, COALESCE(P.k, ''), RP.v FROM P JOIN RP ON P.id = RP.id", "k");
    }

    private void batched() {
        set("table.exec.mini-batch.enabled", "true", "table.exec.mini-batch.allow-latency", "200 ms", "table.exec.mini-batch.size", "100",
                "table.optimizer.agg-phase-strategy", "TWO_PHASE");
        query("SELECT k, COUNT(*), SUM(v), MIN(d) FROM LP GROUP BY k", "SELECT k, MIN(v), COUNT(DISTINCT v) FROM U GROUP BY k",
                "SELECT LP.id, RP.d FROM LP LEFT JOIN RP ON LP.k = RP.k",
                "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS rn FROM L) WHERE rn = 1",
                "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM L) WHERE rn = 1",
                "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS rn FROM L) WHERE rn = 1", "SELECT * FROM P");
        set("table.optimizer.distinct-agg.split.enabled", "true");
        query("SELECT k, COUNT(DISTINCT v), SUM(v) FROM LP GROUP BY k");
    }

    static void run(Run r) throws Exception {
        r.settings.put("taskmanager.memory.managed.size", "1500m");
        r.settings.put("taskmanager.memory.network.min", "160m");
        r.settings.put("taskmanager.memory.network.max", "160m");
        rows();
        StreamExecutionEnvironment env = r.cluster().environment(1);
        Sql s = new Sql(env);
        s.sources();
        s.joins();
        s.over();
        s.ranks();
        s.aggregates();
        s.windows();
        s.rest();
        s.batched();
        feed(r, env);
        Thread.sleep(6000); // watermarks and mini-batches follow by their own clocks
        r.report(r.cluster().checkpoint(), "checkpoint", "");
        r.report(r.cluster().savepoint(SavepointFormatType.CANONICAL), "savepoint-canonical", "");
    }

    /** Starts the job and gives it all rows. */
    static void feed(Run r, StreamExecutionEnvironment env) throws Exception {
        r.cluster().submit(env, r.jobId(), null, false);
        for (String name : ROWS.keySet()) {
            for (long i = 0; i < ROWS.get(name).size(); i++) {
                Feed.of(name).add(i);
            }
        }
        for (String name : ROWS.keySet()) {
            Feed.of(name).drain(r.cluster()::check);
        }
    }
}
