package statebridge.bank;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** One job in a cluster of its own, in this JVM. */
final class Cluster implements AutoCloseable {
    private final MiniCluster cluster;
    private final Path dir;
    private JobID job;

    Cluster(Options options) throws Exception {
        dir = Path.of(options.text("dir", "")).toAbsolutePath();
        cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration(options))
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager((int) options.number("parallelism", 2))
                .build());
        cluster.start();
    }

    /** The settings of the cluster, which the job takes as its own too: Flink 1.20 looks for some of them only in one of the two. */
    static Configuration configuration(Options options) {
        String dir = Path.of(options.text("dir", "")).toAbsolutePath().toString();
        boolean moving = options.text("mode", "").equals("moving");
        Configuration c = new Configuration();
        c.setString("state.backend.type", options.text("backend", "rocksdb"));
        c.setString("execution.checkpointing.dir", "file://" + dir + "/checkpoints");
        c.setString("execution.checkpointing.savepoint-dir", "file://" + dir + "/savepoints");
        c.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        c.setString("execution.checkpointing.incremental", options.text("incremental", "true"));
        c.setString("execution.checkpointing.interval", moving ? options.number("interval", 1000) + " ms" : "365 d");
        c.setString("execution.checkpointing.num-retained", options.text("retained", moving ? "3" : "100"));
        c.setString("execution.checkpointing.data-inline-threshold", options.text("inline", "0kb"));
        c.setString("execution.checkpointing.snapshot-compression", options.text("compression", "false"));
        c.setString("execution.checkpointing.local-recovery", "false");
        c.setString("state.backend.rocksdb.memory.managed", "false");
        long buffer = MemorySize.parseBytes(options.text("write-buffer", options.text("mode", "").equals("bulk") ? "8mb" : "64kb"));
        c.setString("state.backend.rocksdb.writebuffer.size", buffer + " bytes");
        c.setString("state.backend.rocksdb.compaction.level.target-file-size-base", buffer + " bytes");
        c.setString("state.backend.rocksdb.compaction.level.max-size-level-base", 4 * buffer + " bytes");
        if (options.number("restarts", 0) > 0) {
            c.setString("restart-strategy.type", "fixed-delay");
            c.setString("restart-strategy.fixed-delay.attempts", "" + options.number("restarts", 0));
            c.setString("restart-strategy.fixed-delay.delay", "200 ms");
        } else {
            c.setString("restart-strategy.type", "none");
        }
        c.setString("taskmanager.memory.managed.size", "64m");
        c.setString("taskmanager.memory.network.min", "32m");
        c.setString("taskmanager.memory.network.max", "32m");
        c.setString("rest.port", options.text("rest-port", "0"));
        c.setString("rest.bind-port", options.text("rest-port", "0"));
        c.setString("io.tmp.dirs", dir + "/tmp");
        return c;
    }

    void submit(StreamExecutionEnvironment env, Options options) throws Exception {
        JobGraph graph = env.getStreamGraph().getJobGraph();
        if (!options.text("job-id", "").isEmpty()) {
            graph.setJobID(JobID.fromHexString(options.text("job-id", "")));
        }
        if (!options.text("restore", "").isEmpty()) {
            graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(options.text("restore", ""), false));
        }
        job = cluster.submitJob(graph).get().getJobID();
        Control.event("started", "job", job, "dir", checkpoints(), "rest", cluster.getRestAddress().get());
        awaitRunning();
    }

    void awaitRunning() throws Exception {
        while (cluster.getJobStatus(job).get() != JobStatus.RUNNING || !allTasksRun()) {
            failIfEnded();
            Thread.sleep(20);
        }
    }

    private boolean allTasksRun() throws Exception {
        var graph = cluster.getExecutionGraph(job).get();
        for (var vertex : graph.getAllExecutionVertices()) {
            if (!vertex.getExecutionState().name().equals("RUNNING")) {
                return false;
            }
        }
        return true;
    }

    void failIfEnded() throws Exception {
        JobStatus status = cluster.getJobStatus(job).get();
        if (status.isTerminalState()) {
            cluster.requestJobResult(job).get().toJobExecutionResult(getClass().getClassLoader());
            throw new IllegalStateException("the job has ended: " + status);
        }
    }

    /** The only TaskManager dies and another one takes its place: the job restarts from its last checkpoint. */
    void failTaskManager() throws Exception {
        cluster.terminateTaskManager(0).get();
        Control.event("failed");
        cluster.startTaskManager();
    }

    String jobId() {
        return job.toHexString();
    }

    Path checkpoints() {
        return dir.resolve("checkpoints").resolve(job.toHexString());
    }

    /** Takes a checkpoint that is no periodic one; full also copies what an incremental one would share. */
    Path checkpoint() throws Exception {
        long id = cluster.triggerCheckpoint(job, CheckpointType.CONFIGURED).get(5, TimeUnit.MINUTES);
        return checkpoints().resolve("chk-" + id);
    }

    Path savepoint(SavepointFormatType format) throws Exception {
        String uri = cluster.triggerSavepoint(job, "file://" + dir + "/savepoints", false, format).get(5, TimeUnit.MINUTES);
        return Path.of(uri.replaceFirst("^file:(//)?", ""));
    }

    /** Ids of the checkpoints that are whole and there, in their order. */
    List<Long> complete() throws Exception {
        if (!Files.isDirectory(checkpoints())) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(checkpoints())) {
            return files.filter(f -> f.getFileName().toString().startsWith("chk-") && Files.exists(f.resolve("_metadata")))
                    .map(f -> Long.parseLong(f.getFileName().toString().substring(4)))
                    .sorted(Comparator.naturalOrder())
                    .toList();
        }
    }

    void cancel() throws Exception {
        cluster.cancelJob(job).get();
        while (!cluster.getJobStatus(job).get().isTerminalState()) {
            Thread.sleep(20);
        }
    }

    @Override
    public void close() throws Exception {
        cluster.close();
    }
}
