package statebridge.bank;

import java.nio.file.Path;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Runs the bank, prints one JSON line for each thing that happened, and leaves its snapshots behind. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        try {
            Options options = new Options(args);
            switch (options.text("mode", "moving")) {
                case "moving" -> new Moving(options).run();
                case "rounds" -> rounds(options);
                case "bulk" -> Bulk.run(options);
                default -> throw new IllegalArgumentException("no such mode\n\n" + Options.USAGE);
            }
            System.exit(0); // idle threads of the cluster would keep the JVM
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage());
            System.exit(2);
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    static StreamExecutionEnvironment bank(Options options) {
        var env = StreamExecutionEnvironment.getExecutionEnvironment(Cluster.configuration(options));
        int parallelism = (int) options.number("parallelism", 2);
        env.setParallelism(parallelism);
        env.setMaxParallelism((int) options.number("max-parallelism", 128));
        String expected = Path.of(options.text("dir", "")).toAbsolutePath().resolve("expected").toString();
        var source = new ScriptSource(
                options.number("seed", 1), (int) options.number("accounts", 1000), (int) options.number("carts", 200),
                options.flag("nulls", true), options.flag("steady", false), expected);
        var legs = env.addSource(source, "script")
                .returns(Operation.class)
                .uid("script")
                .setParallelism(1)
                .flatMap(new Legs())
                .returns(Operation.class)
                .name("legs")
                .uid("legs")
                .setParallelism(1);
        legs.filter(o -> !o.ofCart()).setParallelism(1).keyBy(o -> o.id).process(new AccountsFunction()).name("accounts").uid("accounts-op");
        legs.filter(Operation::ofCart).setParallelism(1).keyBy(o -> o.cart).process(new CartsFunction()).name("carts").uid("carts-op");
        return env;
    }

    private static void rounds(Options options) throws Exception {
        try (Cluster cluster = new Cluster(options)) {
            cluster.submit(bank(options), options);
            Scenario scenario = new Scenario(options, cluster);
            long position = Control.drain();
            if (position == 0) {
                position = options.number("accounts", 1000);
            }
            for (long round = 1; round <= options.number("rounds", 5); round++) {
                position += options.number("operations", 500);
                Control.allow(position);
                Control.drain();
                scenario.add(cluster.checkpoint(), "checkpoint");
            }
            savepoint(options, cluster, scenario);
            scenario.write();
            cluster.cancel();
        }
    }

    static void savepoint(Options options, Cluster cluster, Scenario scenario) throws Exception {
        String format = options.text("savepoint", "none");
        if (!format.equals("none")) {
            scenario.add(cluster.savepoint(SavepointFormatType.valueOf(format.toUpperCase())), "savepoint-" + format);
        }
    }
}
