package statebridge.bank;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Program arguments: --name value pairs, each with a default. */
final class Options {
    static final String USAGE = """
            java statebridge.bank.Main --mode moving|rounds|bulk --dir DIR [--name value]...

              --dir DIR            the run's folder: checkpoints/, expected/, scenario.json (required)
              --backend NAME       rocksdb or hashmap (rocksdb)
              --incremental BOOL   incremental RocksDB checkpoints (true)
              --parallelism N      of the keyed operators (2)
              --max-parallelism N  number of key groups (128)
              --retained N         checkpoints kept (3 when moving, else 100)
              --inline SIZE        state smaller than this stands in _metadata, as 20kb (0kb)
              --write-buffer SIZE  of RocksDB; small, so that it flushes and compacts (64kb; bulk: 8mb)
              --compression BOOL   snapshot compression (false)
              --seed N             of the script (1)
              --accounts N         open at the start (1000)
              --carts N            carts in use (200)
              --nulls BOOL         some quantities in carts are null (true)
              --steady BOOL        once all are open, an account is closed only as another one is opened (false)
              --job-id HEX         32 hex digits (random)
              --restore PATH       a snapshot to start from
              --rest-port N        of the JobManager's REST API; 0 takes a free one (0)
              --savepoint FORMAT   take one last: canonical, native or none (none)
              --stdin BOOL         obey pause, resume, checkpoint, still (pause and take one with its rows), fail (the TaskManager dies)
                                   and stop, a line each; end at the end of input (false)
            moving: operations go on while checkpoints are taken
              --interval MS        between checkpoints (1000)
              --seconds N          how long (10)
              --rate N             operations a second (500)
              --rows BOOL          write the expected rows of each checkpoint, not just of the last (true)
              --restarts N         times that the job may fail and go on (0)
            rounds: a checkpoint after each round
              --rounds N           how many (5)
              --operations N       in each round; the first also opens the accounts (500)
            bulk: a large state, a checkpoint, some changes, another checkpoint
              --keys N             how many (1000000)
              --fraction F         of the keys change (0.01)
            """;

    private static final Set<String> NAMES = Set.of(
            "mode", "dir", "backend", "incremental", "parallelism", "max-parallelism", "retained", "inline", "write-buffer",
            "compression", "seed", "accounts", "carts", "nulls", "job-id", "restore", "rest-port", "savepoint", "stdin", "steady", "rows", "restarts", "interval", "seconds",
            "rate", "rounds", "operations", "keys", "fraction");

    private final Map<String, String> values = new HashMap<>();

    Options(String[] args) {
        for (int i = 0; i < args.length; i += 2) {
            if (!args[i].startsWith("--") || !NAMES.contains(args[i].substring(2)) || i + 1 == args.length) {
                throw new IllegalArgumentException("not understood: " + args[i] + "\n\n" + USAGE);
            }
            values.put(args[i].substring(2), args[i + 1]);
        }
        if (!values.containsKey("dir")) {
            throw new IllegalArgumentException("--dir is required\n\n" + USAGE);
        }
    }

    String text(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    long number(String name, long otherwise) {
        return values.containsKey(name) ? Long.parseLong(values.get(name)) : otherwise;
    }

    double fraction(String name, double otherwise) {
        return values.containsKey(name) ? Double.parseDouble(values.get(name)) : otherwise;
    }

    boolean flag(String name, boolean otherwise) {
        return values.containsKey(name) ? Boolean.parseBoolean(values.get(name)) : otherwise;
    }
}
