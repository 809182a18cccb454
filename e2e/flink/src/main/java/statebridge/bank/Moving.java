package statebridge.bank;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

/** Operations go on and on; checkpoints are taken meanwhile, and the oldest are deleted; at last all is still and one more is taken. */
final class Moving {
    private final Options options;
    private volatile boolean paused;
    private volatile boolean stopped;
    private final CountDownLatch begun = new CountDownLatch(1);

    Moving(Options options) {
        this.options = options;
    }

    void run() throws Exception {
        Control.wantRows(options.flag("rows", true));
        try (Cluster cluster = new Cluster(options)) {
            cluster.submit(Main.bank(options), options);
            if (options.flag("stdin", false)) {
                Thread reader = new Thread(() -> obey(cluster), "stdin");
                reader.setDaemon(true);
                reader.start();
            }
            Scenario scenario = new Scenario(options, cluster);
            operate(cluster, scenario);
            Control.drain();
            Control.wantRows(true);
            cluster.checkpoint();
            Main.savepoint(options, cluster, scenario);
            cluster.cancel();
            scenario.discover();
            scenario.write();
        }
    }

    private void operate(Cluster cluster, Scenario scenario) throws Exception {
        double position = Control.drain();
        Control.allow((long) (position += options.number("accounts", 1000)));
        begun.countDown();
        long start = System.nanoTime();
        long last = start;
        while (!stopped && System.nanoTime() - start < options.number("seconds", 10) * 1_000_000_000L) {
            Thread.sleep(10);
            long now = System.nanoTime();
            synchronized (this) {
                if (!paused) {
                    position += (now - last) / 1e9 * options.number("rate", 500);
                    Control.allow((long) position);
                }
            }
            last = now;
            scenario.discover();
            cluster.failIfEnded();
        }
    }

    private void obey(Cluster cluster) {
        try (var in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line; (line = in.readLine()) != null; ) {
                switch (line.trim()) {
                    case "pause" -> pause();
                    case "resume" -> paused = false;
                    case "checkpoint" -> cluster.checkpoint();
                    case "still" -> still(cluster);
                    case "fail" -> cluster.failTaskManager();
                    case "stop" -> stopped = true;
                    default -> System.err.println("not understood: " + line);
                }
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(3); // whoever started us is gone
    }

    private synchronized void pause() {
        paused = true;
    }

    /** Pauses, and takes a checkpoint with its expected rows once nothing is on its way; later ones hold the same until the job resumes. */
    private void still(Cluster cluster) throws Exception {
        pause();
        begun.await(); // what is allowed first is on its way whether paused or not
        cluster.awaitRunning();
        Control.drain();
        Control.wantRows(true);
        cluster.checkpoint();
        Control.wantRows(options.flag("rows", true));
    }
}
