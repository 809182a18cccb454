package statebridge.kinds;

import static org.apache.flink.table.api.Expressions.$;
import static org.apache.flink.table.api.Expressions.call;
import static org.apache.flink.table.api.Expressions.rowInterval;

import java.util.concurrent.CompletableFuture;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Slide;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.Tumble;
import org.apache.flink.table.api.dataview.ListView;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.AggregateFunction;
import org.apache.flink.table.functions.AsyncScalarFunction;
import org.apache.flink.table.functions.TableAggregateFunction;
import org.apache.flink.util.Collector;

/** Stateful operators of Flink SQL that need a connector, a function or an option of their own. */
final class SqlMore {
    private SqlMore() {}

    /** Two highest numbers. */
    public static class Top2 extends TableAggregateFunction<Integer, Top2.Two> {
        public static class Two {
            public Integer first;
            public Integer second;
        }

        @Override
        public Two createAccumulator() {
            return new Two();
        }

        public void accumulate(Two t, Integer v) {
            if (t.first == null || v > t.first) {
                t.second = t.first;
                t.first = v;
            } else if (t.second == null || v > t.second) {
                t.second = v;
            }
        }

        public void emitValue(Two t, Collector<Integer> out) {
            out.collect(t.first);
        }
    }

    /** An aggregate with views. */
    public static class Views extends AggregateFunction<Long, Views.Seen> {
        public static class Seen {
            public long count;
            public ListView<Integer> list = new ListView<>();
            public MapView<Integer, Long> map = new MapView<>();
        }

        @Override
        public Seen createAccumulator() {
            return new Seen();
        }

        public void accumulate(Seen s, Integer v) throws Exception {
            s.count++;
            s.list.add(v);
            s.map.put(v, s.count);
        }

        @Override
        public Long getValue(Seen s) {
            return s.count;
        }
    }

    /** Answers for even numbers only. */
    public static class Slow extends AsyncScalarFunction {
        public void eval(CompletableFuture<Integer> answer, Integer v) {
            if (v % 2 == 0) {
                answer.complete(v);
            }
        }
    }

    static void run(Run r) throws Exception {
        r.settings.put("taskmanager.memory.managed.size", "1000m");
        r.settings.put("taskmanager.memory.network.min", "160m");
        r.settings.put("taskmanager.memory.network.max", "160m");
        Sql.rows();
        StreamExecutionEnvironment env = r.cluster().environment(1);
        Sql s = new Sql(env);
        s.sources();
        s.set("table.exec.resource.default-parallelism", "1");
        lookups(s);
        functions(s);
        windows(s);
        Line.functions(s);
        Sql.feed(r, env);
        Thread.sleep(5000);
        r.report(r.cluster().checkpoint(), "checkpoint", "");
        r.report(r.cluster().savepoint(SavepointFormatType.NATIVE), "savepoint-native", "");
    }

    private static void lookups(Sql s) {
        for (String how : new String[] {"sync", "async"}) {
            s.tables.executeSql("CREATE TABLE dim_" + how + " (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'dim', 'how' = '" + how + "')");
        }
        String join = "SELECT %s S.id, S.k, D.name FROM %s AS S LEFT JOIN %s FOR SYSTEM_TIME AS OF S.p AS D ON S.id = D.id";
        s.query(join.formatted("/*+ LOOKUP('table'='D', 'async'='true', 'output-mode'='ordered', 'retry-predicate'='lookup_miss', 'retry-strategy'='fixed_delay',"
                + " 'fixed-delay'='1h', 'max-attempts'='3') */", "L", "dim_async"));
        s.tables.createTemporaryView("UP", s.tables.sqlQuery("SELECT id, k, v, PROCTIME() AS p FROM P"));
        s.set("table.optimizer.non-deterministic-update.strategy", "TRY_RESOLVE");
        s.query(join.formatted("", "UP", "dim_sync"));
        s.set("table.optimizer.non-deterministic-update.strategy", "IGNORE");
    }

    private static void functions(Sql s) {
        s.tables.createTemporarySystemFunction("top2", Top2.class);
        s.tables.createTemporarySystemFunction("viewed", Views.class);
        s.tables.createTemporarySystemFunction("slow", Slow.class);
        s.query("SELECT k, viewed(v), SUM(v) FROM LP GROUP BY k", "SELECT id, slow(v) FROM LP");
        discard(s, s.tables.from("LP").groupBy($("k")).flatAggregate(call("top2", $("v")).as("x")).select($("k"), $("x")));
    }

    private static void discard(Sql s, Table t) {
        Line.discard(s.tables.toChangelogStream(t));
    }

    private static void windows(Sql s) {
        s.query("SELECT k, v, window_start FROM TABLE(SESSION(TABLE L PARTITION BY k, DESCRIPTOR(ts), INTERVAL '15' SECOND))");
        Table l = s.tables.from("L");
        discard(s, l.window(Tumble.over(rowInterval(3L)).on($("p")).as("w")).groupBy($("w"), $("k")).select($("k"), $("v").sum()));
        discard(s, l.window(Slide.over(rowInterval(4L)).every(rowInterval(2L)).on($("p")).as("w")).groupBy($("w"), $("k")).select($("k"), $("v").max()));
        s.query("SELECT id, k, v FROM L ORDER BY p, v");
        s.set("table.exec.emit.early-fire.enabled", "true", "table.exec.emit.early-fire.delay", "1 h", "table.exec.emit.late-fire.enabled", "true",
                "table.exec.emit.late-fire.delay", "1 h", "table.exec.emit.allow-lateness", "1 h");
        s.query("SELECT k, COUNT(*), SUM(v) FROM L GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND)", "SELECT k, COUNT(*), MAX(v) FROM L GROUP BY k, HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND)");
        s.set("table.exec.emit.early-fire.enabled", "false", "table.exec.emit.late-fire.enabled", "false");
    }
}
