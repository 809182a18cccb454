package statebridge.kinds;

import java.nio.file.Path;

/** Runs one scenario: java statebridge.kinds.Main SCENARIO BACKEND DIR. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        String what = args[0];
        try (Run r = new Run(Path.of(args[2]), args[1])) {
            switch (what) {
                case "finished" -> Finished.run(r, false, false);
                case "finished-unaligned" -> Finished.run(r, false, true);
                case "finished-half" -> Finished.run(r, true, false);
                case "values" -> Values.run(r);
                case "avro" -> AvroValues.run(r);
                case "kryo" -> KryoValues.run(r);
                case "registered" -> Registered.run(r);
                case "unregistered" -> Registered.restored(r);
                case "rescale" -> Moves.rescale(r, false, 2, 3, 2);
                case "rescale-claim" -> Moves.rescale(r, true, 2, 3, 2);
                case "restore-claim" -> Moves.rescale(r, true, 2, 2);
                case "emptied" -> Moves.emptied(r);
                case "entropy" -> Moves.entropy(r);
                case "s3" -> Moves.s3(r);
                case "ttl" -> Moves.ttl(r);
                case "joins" -> Joins.run(r);
                case "corners" -> Corners.run(r, false, false);
                case "corners-merged" -> Corners.run(r, true, false);
                case "corners-async" -> Corners.run(r, false, true);
                case "sql-more" -> SqlMore.run(r);
                case "sql" -> Sql.run(r);
                default -> throw new IllegalArgumentException(what);
            }
            r.write(what);
        }
        System.exit(0);
    }
}
