package statebridge.bank;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The snapshots of a run, each with the rows that it must hold; printed as they come and written to scenario.json at the end. */
final class Scenario {
    private record Snapshot(String path, long id, String kind, int rows) {
        String json() {
            return "{\"path\":" + Json.string(path) + ",\"checkpoint_id\":" + id + ",\"kind\":" + Json.string(kind)
                    + ",\"expected\":" + Json.string(expected()) + ",\"expected_lines\":" + rows + "}";
        }

        String expected() {
            return rows < 0 ? null : "expected/chk-" + id + ".jsonl.gz";
        }
    }

    private final Options options;
    private final Cluster cluster;
    private final Path dir;
    private final List<Snapshot> snapshots = new ArrayList<>();
    private long newest;

    Scenario(Options options, Cluster cluster) {
        this.options = options;
        this.cluster = cluster;
        this.dir = Path.of(options.text("dir", "")).toAbsolutePath();
    }

    /** Adds the checkpoints that have come since the last call. */
    void discover() throws Exception {
        for (long id : cluster.complete()) {
            if (id > newest) {
                newest = id;
                report(cluster.checkpoints().resolve("chk-" + id), id, "checkpoint");
            }
        }
    }

    /** Adds a snapshot that was asked for; nothing else may be under way. */
    void add(Path snapshot, String kind) {
        String name = snapshot.getFileName().toString();
        report(snapshot, name.startsWith("chk-") ? Long.parseLong(name.substring(4)) : Control.lastBarrier(), kind);
    }

    private void report(Path snapshot, long id, String kind) {
        var s = new Snapshot(dir.relativize(snapshot).toString(), id, kind, Control.expectedRows(id));
        snapshots.add(s);
        event("snapshot", s);
    }

    private void event(String name, Snapshot s) {
        Control.event(name, "kind", s.kind, "checkpoint_id", s.id, "path", dir.resolve(s.path),
                "expected", s.expected() == null ? "" : dir.resolve(s.expected()), "rows", s.rows);
    }

    /** Writes scenario.json, with those snapshots that are still there, and says which is the last. */
    void write() throws Exception {
        List<Snapshot> kept = snapshots.stream().filter(s -> Files.exists(dir.resolve(s.path).resolve("_metadata"))).toList();
        String list = kept.stream().map(s -> "  " + s.json()).collect(Collectors.joining(",\n"));
        Files.writeString(dir.resolve("scenario.json"), "{\n \"scenario\":" + Json.string(dir.getFileName().toString())
                + ",\n \"backend\":" + Json.string(options.text("backend", "rocksdb"))
                + ",\n \"job_id\":" + Json.string(cluster.jobId())
                + ",\n \"snapshots\":[\n" + list + "\n ]\n}\n");
        event("end", kept.get(kept.size() - 1));
    }
}
