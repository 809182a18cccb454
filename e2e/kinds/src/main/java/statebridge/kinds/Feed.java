package statebridge.kinds;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the main thread gives a source of the same JVM to emit: indexes into the operations of an operator, by the source's name. A source emits those that are
 * its own (index modulo parallelism), then waits for more or for its end.
 */
final class Feed {
    private static final Map<String, Feed> ALL = new ConcurrentHashMap<>();

    final List<Long> items = new ArrayList<>();
    final AtomicLong handled = new AtomicLong();
    volatile int ended; // how many of the source's subtasks may end

    static Feed of(String name) {
        return ALL.computeIfAbsent(name, n -> new Feed());
    }

    synchronized void add(long item) {
        items.add(item);
    }

    synchronized int size() {
        return items.size();
    }

    synchronized long at(int i) {
        return items.get(i);
    }

    /** Waits until the operator has handled all that was given. */
    void drain(Runnable check) throws Exception {
        for (int n = 0; handled.get() < size(); n++) {
            if (n % 50 == 49) {
                check.run();
            }
            Thread.sleep(10);
        }
    }

    static void clear() {
        ALL.clear();
    }
}
