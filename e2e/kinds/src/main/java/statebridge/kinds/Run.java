package statebridge.kinds;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** One scenario: its folder, its snapshots and the rows that they must hold. */
final class Run implements AutoCloseable {
    final Path dir;
    final Map<String, String> settings = new HashMap<>();
    final List<Keyed<?>> operators = new ArrayList<>();
    private final List<String> snapshots = new ArrayList<>();
    private Cluster cluster;
    private int jobs;

    /** A backend may have the changelog over it: hashmap+changelog. */
    Run(Path dir, String backend) {
        this.dir = dir.toAbsolutePath();
        settings.put("state.backend.type", backend.replace("+changelog", ""));
        if (backend.endsWith("+changelog")) {
            settings.put("state.changelog.enabled", "true");
            settings.put("state.changelog.storage", "filesystem");
            settings.put("state.changelog.periodic-materialize.interval", "3 s");
            settings.put("dstl.dfs.base-path", "file://" + this.dir + "/changelog");
        }
        Feed.clear();
    }

    String jobId() {
        return "0c0ffee0%024x".formatted(++jobs);
    }

    Cluster cluster() throws Exception {
        if (cluster == null) {
            cluster = new Cluster(dir, settings);
        }
        return cluster;
    }

    <K> SingleOutputStreamOperator<Void> keyed(StreamExecutionEnvironment env, Keyed<K> f, TypeInformation<K> keyType) {
        operators.add(f);
        String uid = f.uid;
        SingleOutputStreamOperator<Long> source = env.addSource(new FeedSource(uid), "source of " + uid, Types.LONG)
                .setParallelism(1) // so that operations stay in their order
                .uid("source-" + uid);
        SingleOutputStreamOperator<Void> operator = source.keyBy((KeySelector<Long, K>) i -> Keyed.key(uid, i), keyType).process(f, Types.VOID).uid(uid).name(uid);
        Line.discard(operator);
        return operator;
    }

    void start(StreamExecutionEnvironment env, Path restore, boolean claim) throws Exception {
        cluster().submit(env, jobId(), restore, claim);
        drain();
    }

    void drain() throws Exception {
        for (Keyed<?> k : operators) {
            Feed.of(k.uid).drain(cluster::check);
        }
    }

    private String expected() {
        StringBuilder all = new StringBuilder();
        operators.forEach(o -> all.append(o.expected()));
        return all.toString();
    }

    Path checkpoint() throws Exception {
        return checkpoint(expected());
    }

    Path checkpoint(String expected) throws Exception {
        drain();
        return checkpointNow(expected);
    }

    /** Takes a checkpoint while operations are still under way. */
    Path checkpointNow(String expected) throws Exception {
        Path p = cluster.checkpoint();
        report(p, "checkpoint", expected);
        return p;
    }

    Path savepoint(SavepointFormatType format) throws Exception {
        return savepoint(format, expected());
    }

    Path savepoint(SavepointFormatType format, String expected) throws Exception {
        drain();
        Path p = cluster.savepoint(format);
        report(p, "savepoint-" + format.name().toLowerCase(), expected);
        return p;
    }

    void report(Path snapshot, String kind, String expected) throws Exception {
        int n = snapshots.size() + 1;
        Path file = dir.resolve("expected/" + n + ".jsonl.gz");
        Files.createDirectories(file.getParent());
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
            out.write(expected.getBytes(StandardCharsets.UTF_8));
        }
        snapshots.add("{\"path\":\"" + dir.relativize(snapshot) + "\",\"kind\":\"" + kind + "\",\"expected\":\"expected/" + n + ".jsonl.gz\"}");
    }

    /** Stops the job; another may be started. */
    void stop() throws Exception {
        cluster.cancel();
        operators.clear();
        Feed.clear();
    }

    void write(String special) throws Exception {
        Files.writeString(dir.resolve("scenario.json"), "{\n \"scenario\":\"" + dir.getFileName() + "\",\n \"special\":\"" + special + "\",\n \"snapshots\":[\n  "
                + String.join(",\n  ", snapshots) + "\n ]\n}\n");
    }

    @Override
    public void close() throws Exception {
        cluster.close();
        Files.deleteIfExists(dir.resolve("tmp"));
    }
}
