package statebridge.peer;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.state.api.OperatorIdentifier;
import org.apache.flink.state.api.SavepointReader;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * What one writes with the State Processor API to read the state of the bulk job, in the form that costs it least: the reader function
 * does all the work, and no row travels from task to task.
 */
public final class Peer {
    private static final String USAGE = """
            java statebridge.peer.Peer count SNAPSHOT       counts the rows
            java statebridge.peer.Peer export SNAPSHOT FILE writes a line of JSON for each row
            java statebridge.peer.Peer diff BASE NEXT       writes a line of JSON for each change to stdout
            """;

    private Peer() {}

    public static void main(String[] args) throws Exception {
        String command = args.length == 0 ? "" : args[0];
        long start = System.nanoTime();
        switch (command + " " + args.length) {
            case "count 2" -> {
                read(args[1], new Count());
                report("rows", Count.rows.sum(), start);
            }
            case "export 3" -> {
                read(args[1], new Export(args[2]));
                report("rows", Export.rows.sum(), start);
            }
            case "diff 3" -> {
                read(args[1], new Remember());
                read(args[2], new Compare());
                report("changes", Compare.finish(new PrintStream(System.out, false)), start);
            }
            default -> {
                System.err.print("not understood: " + Arrays.toString(args) + "\n" + USAGE);
                System.exit(2);
            }
        }
        System.exit(0); // idle threads of the cluster would keep the JVM
    }

    /** Runs a job that gives every key of the snapshot to the function, on all cores. */
    private static void read(String snapshot, Reader reader) throws Exception {
        int cores = Runtime.getRuntime().availableProcessors();
        Configuration c = new Configuration();
        c.setString("taskmanager.memory.managed.size", "128m");
        c.setString("taskmanager.memory.network.min", "32m");
        c.setString("taskmanager.memory.network.max", "32m");
        // Else a table of 64 MB, into which RocksDB compacts what it has restored, has an index that no shard of the block cache holds: from 5M keys on
        // each look-up would read and decompress all of it.
        c.setString("state.backend.rocksdb.memory.partitioned-index-filters", "true");
        c.setString("taskmanager.numberOfTaskSlots", String.valueOf(cores));
        c.setString("rest.bind-port", "0");
        var env = StreamExecutionEnvironment.createLocalEnvironment(cores, c);
        env.setRuntimeMode(RuntimeExecutionMode.BATCH);
        env.getConfig().enableObjectReuse();
        SavepointReader.read(env, Path.of(snapshot).toUri().toString(), LineReader.backend())
                .readKeyedState(OperatorIdentifier.forUid("bulk-op"), reader, Types.LONG, Types.LONG)
                .sinkTo(new DiscardingSink<>());
        env.execute();
    }

    /** One line on stderr; the seconds leave out the start of the JVM. */
    private static void report(String what, long n, long start) {
        System.err.printf("{\"%s\":%d,\"seconds\":%.3f}%n", what, n, (System.nanoTime() - start) / 1e9);
    }
}
