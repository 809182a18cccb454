package statebridge.peer;

import java.io.PrintStream;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import statebridge.bank.Profile;

/** Compares each row with the one that was remembered, which it forgets; what is left at the end has been deleted. */
final class Compare extends Reader {
    private static final Queue<String> changes = new ConcurrentLinkedQueue<>();

    @Override
    void row(long key, Profile after) {
        Profile before = Remember.rows.remove(key);
        if (before == null) {
            change("c", key, null, after);
        } else if (!same(before, after)) {
            change("u", key, before, after);
        }
    }

    private static boolean same(Profile a, Profile b) {
        return a.level == b.level && a.score == b.score && Objects.equals(a.name, b.name) && Objects.equals(a.email, b.email)
                && Objects.equals(a.since, b.since) && Objects.equals(a.tags, b.tags);
    }

    private static void change(String op, long key, Profile before, Profile after) {
        StringBuilder line = Line.key(new StringBuilder(), key).append(",\"op\":\"").append(op).append("\",\"before\":");
        Line.value(line, before).append(",\"after\":");
        changes.add(Line.value(line, after).append('}').toString());
    }

    /** Writes all changes and returns their number. */
    static long finish(PrintStream out) {
        Remember.rows.forEach((key, before) -> change("d", key, before, null));
        changes.forEach(out::println);
        out.flush();
        return changes.size();
    }
}
