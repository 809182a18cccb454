package statebridge.kinds;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.plugin.PluginUtils;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** One job in a cluster of its own, in this JVM. */
final class Cluster implements AutoCloseable {
    private final MiniCluster cluster;
    private final Path dir;
    private final Configuration configuration;
    private JobID job;

    Cluster(Path dir, Map<String, String> settings) throws Exception {
        this.dir = dir.toAbsolutePath();
        configuration = configuration(this.dir, settings);
        FileSystem.initialize(configuration, PluginUtils.createPluginManagerFromRootFolder(configuration));
        cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration).setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build());
        cluster.start();
    }

    private static Configuration configuration(Path dir, Map<String, String> settings) {
        Configuration c = new Configuration();
        c.setString("execution.checkpointing.dir", "file://" + dir + "/checkpoints");
        c.setString("execution.checkpointing.savepoint-dir", "file://" + dir + "/savepoints");
        c.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        c.setString("execution.checkpointing.incremental", "true");
        c.setString("execution.checkpointing.interval", "365 d");
        c.setString("execution.checkpointing.num-retained", "100");
        c.setString("execution.checkpointing.data-inline-threshold", "0kb");
        c.setString("execution.checkpointing.local-recovery", "false");
        c.setString("state.backend.rocksdb.memory.managed", "false");
        c.setString("state.backend.rocksdb.writebuffer.size", "64kb");
        c.setString("restart-strategy.type", "none");
        c.setString("taskmanager.memory.managed.size", "64m");
        c.setString("taskmanager.memory.network.min", "32m");
        c.setString("taskmanager.memory.network.max", "32m");
        c.setString("pipeline.max-parallelism", "128");
        c.setString("rest.port", "0");
        c.setString("rest.bind-port", "0");
        c.setString("io.tmp.dirs", dir + "/tmp");
        settings.forEach(c::setString);
        return c;
    }

    StreamExecutionEnvironment environment(int parallelism) {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(parallelism);
        return env;
    }

    /** Runs a job, from a snapshot if one is given, and waits until all of it runs. */
    void submit(StreamExecutionEnvironment env, String jobId, Path restore, boolean claim) throws Exception {
        JobGraph graph = env.getStreamGraph().getJobGraph();
        graph.setJobID(JobID.fromHexString(jobId));
        if (restore != null) {
            graph.setSavepointRestoreSettings(Line.restore("file://" + restore, claim));
        }
        job = cluster.submitJob(graph).get().getJobID();
        while (cluster.getJobStatus(job).get() != JobStatus.RUNNING || !running()) {
            check();
            Thread.sleep(20);
        }
    }

    private boolean running() throws Exception {
        for (var vertex : cluster.getExecutionGraph(job).get().getAllExecutionVertices()) {
            if (!vertex.getExecutionState().name().equals("RUNNING") && !vertex.getExecutionState().name().equals("FINISHED")) {
                return false;
            }
        }
        return true;
    }

    /** How many subtasks have finished. */
    int finished() throws Exception {
        int n = 0;
        for (var vertex : cluster.getExecutionGraph(job).get().getAllExecutionVertices()) {
            n += vertex.getExecutionState().name().equals("FINISHED") ? 1 : 0;
        }
        return n;
    }

    void check() {
        try {
            if (cluster.getJobStatus(job).get().isTerminalState()) {
                cluster.requestJobResult(job).get().toJobExecutionResult(getClass().getClassLoader());
                throw new IllegalStateException("the job has ended");
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    Path checkpoint() throws Exception {
        long id = cluster.triggerCheckpoint(job, CheckpointType.CONFIGURED).get(2, TimeUnit.MINUTES);
        return dir.resolve("checkpoints").resolve(job.toHexString()).resolve("chk-" + id);
    }

    Path savepoint(SavepointFormatType format) throws Exception {
        String uri = cluster.triggerSavepoint(job, configuration.getString("execution.checkpointing.savepoint-dir", null), false, format).get(2, TimeUnit.MINUTES);
        return dir.resolve("savepoints").resolve(Path.of(uri).getFileName());
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
