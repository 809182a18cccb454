package statebridge.bank;

import java.util.Map;
import java.util.TreeMap;

/** What the main thread and the source of the same JVM tell each other, and the events that both print. */
final class Control {
    private static long allowed;
    private static long emitted;
    private static volatile long lastBarrier;
    private static volatile boolean rowsWanted = true;
    private static final Map<Long, Integer> EXPECTED_ROWS = new TreeMap<>();

    private Control() {}

    /** Lets the source emit up to the given position of the script. */
    static synchronized void allow(long position) {
        allowed = Math.max(allowed, position);
        Control.class.notifyAll();
    }

    /** Waits a moment for leave to emit; how many operations there is leave for. */
    static synchronized long await(long position) throws InterruptedException {
        emitted = position;
        Control.class.notifyAll();
        if (allowed <= position) {
            Control.class.wait(10);
        }
        return Math.max(0, allowed - position);
    }

    /** Waits until all that was allowed has been emitted. */
    static synchronized long drain() throws InterruptedException {
        while (emitted < allowed) {
            Control.class.wait(10);
        }
        return emitted;
    }

    static synchronized void barrier(long checkpoint, int expectedRows, Model model) {
        lastBarrier = checkpoint;
        EXPECTED_ROWS.put(checkpoint, expectedRows);
        event("barrier", "checkpoint_id", checkpoint, "accounts", model.accounts(), "digest", model.digest(), "others", model.others());
    }

    /** Whether checkpoints write their expected rows. */
    static boolean rowsWanted() {
        return rowsWanted;
    }

    static void wantRows(boolean wanted) {
        rowsWanted = wanted;
    }

    static long lastBarrier() {
        return lastBarrier;
    }

    static synchronized int expectedRows(long checkpoint) {
        return EXPECTED_ROWS.getOrDefault(checkpoint, -1);
    }

    /** Prints one JSON line: names and values, values that are no numbers quoted. */
    static synchronized void event(String name, Object... members) {
        StringBuilder b = new StringBuilder("{\"event\":" + Json.string(name));
        for (int i = 0; i < members.length; i += 2) {
            Object v = members[i + 1];
            String value = v instanceof Number ? v.toString() : Json.string(String.valueOf(v));
            b.append(',').append(Json.string((String) members[i])).append(':').append(value);
        }
        System.out.println(b.append('}'));
        System.out.flush();
    }
}
