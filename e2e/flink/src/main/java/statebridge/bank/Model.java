package statebridge.bank;

import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.GZIPOutputStream;

/** What the operators must hold: a fold of the script with plain collections. It knows nothing of Flink. */
final class Model {
    private final Map<Long, Long> balances = new TreeMap<>();
    private final Map<Long, Profile> profiles = new TreeMap<>();
    private final Map<Long, List<Long>> recent = new TreeMap<>();
    private final Map<String, Map<String, Integer>> carts = new TreeMap<>();
    private final Map<Long, TreeSet<Long>> timers = new TreeMap<>();
    private long earliest = Long.MAX_VALUE; // no timer is due before

    long balance(long id) {
        return balances.getOrDefault(id, 0L);
    }

    int accounts() {
        return balances.size();
    }

    /** A sum in which every account has a weight of its own, nearly, so that two states rarely share it. */
    long digest() {
        long sum = 0;
        for (var e : balances.entrySet()) {
            sum += e.getValue() * (e.getKey() % 1009 + 1);
        }
        return sum;
    }

    /** The same for what is no balance: the levels of the profiles and the quantities in the carts. */
    long others() {
        long sum = 0;
        for (var e : profiles.entrySet()) {
            sum += (long) e.getValue().level * (e.getKey() % 1009 + 1);
        }
        for (var cart : carts.values()) {
            for (Integer quantity : cart.values()) {
                sum += quantity == null ? 0 : quantity * 7L;
            }
        }
        return sum;
    }

    void apply(Operation o) {
        switch (o.kind) {
            case OPEN -> {
                profiles.put(o.id, o.profile);
                leg(o.id, o.amount, o.time);
                leg(0, -o.amount, o.time);
            }
            case TRANSFER -> {
                leg(o.id, -o.amount, o.time);
                leg(o.other, o.amount, o.time);
            }
            case PROFILE -> {
                profiles.put(o.id, o.profile);
                timers.getOrDefault(o.id, new TreeSet<>()).remove(timerFor(o.time));
            }
            case CLOSE -> {
                balances.remove(o.id);
                profiles.remove(o.id);
                recent.remove(o.id);
                leg(0, o.amount, o.time);
            }
            case REPLACE -> {
                balances.remove(o.id);
                profiles.remove(o.id);
                recent.remove(o.id);
                profiles.put(o.other, o.profile);
                leg(o.other, o.amount, o.time);
            }
            case PUT -> carts.computeIfAbsent(o.cart, c -> new TreeMap<>()).put(o.item, o.quantity);
            case REMOVE -> carts.getOrDefault(o.cart, new TreeMap<>()).remove(o.item);
            case CLEAR -> carts.remove(o.cart);
            case TICK -> tick(o.time);
            case LEG -> throw new IllegalArgumentException("a leg is no step of the script");
        }
    }

    /** The end of the ten seconds that a moment lies in. */
    static long timerFor(long time) {
        return (time / 10_000 + 1) * 10_000;
    }

    private void leg(long id, long amount, long time) {
        balances.merge(id, amount, Long::sum);
        recent.computeIfAbsent(id, i -> new ArrayList<>()).add(amount);
        timers.computeIfAbsent(id, i -> new TreeSet<>()).add(timerFor(time));
        earliest = Math.min(earliest, timerFor(time));
    }

    private void tick(long watermark) {
        if (watermark < earliest) {
            return;
        }
        earliest = Long.MAX_VALUE; // one that is found too early next time costs a look
        timers.forEach((id, due) -> {
            if (!due.headSet(watermark, true).isEmpty()) {
                recent.remove(id);
                due.headSet(watermark, true).clear();
            }
            if (!due.isEmpty()) {
                earliest = Math.min(earliest, due.first());
            }
        });
    }

    /** Writes the expected rows of a snapshot, one JSON object a line, and says how many there are. */
    int write(Path file, long position) throws IOException {
        Files.createDirectories(file.getParent());
        try (Writer w = new OutputStreamWriter(new GZIPOutputStream(Files.newOutputStream(file)), StandardCharsets.UTF_8)) {
            Rows rows = new Rows(w);
            for (var e : balances.entrySet()) {
                rows.row("accounts-op", "balance", "value", e.getKey().toString(), null, e.getValue().toString());
            }
            for (var e : profiles.entrySet()) {
                rows.row("accounts-op", "profile", "value", e.getKey().toString(), null, e.getValue().json());
            }
            for (var e : recent.entrySet()) {
                rows.row("accounts-op", "recent", "list", e.getKey().toString(), null, e.getValue().toString());
            }
            for (var e : timers.entrySet()) {
                for (long due : e.getValue()) {
                    rows.row("accounts-op", "_timer_state/event_user-timers", "timer", e.getKey().toString(), null, "" + due);
                }
            }
            for (var e : carts.entrySet()) {
                for (var item : e.getValue().entrySet()) {
                    rows.row("carts-op", "items", "map", Json.string(e.getKey()), Json.string(item.getKey()), "" + item.getValue());
                }
            }
            rows.row("script", "position", "oplist", null, null, "" + position);
            return rows.count;
        }
    }

    private static final class Rows {
        private final Writer w;
        private int count;

        Rows(Writer w) {
            this.w = w;
        }

        void row(String uid, String state, String kind, String key, String mapKey, String value) throws IOException {
            w.write("{\"operator_uid\":\"" + uid + "\",\"state\":\"" + state + "\",\"kind\":\"" + kind + "\"");
            if (key != null) {
                w.write(",\"key\":" + key);
            }
            if (mapKey != null) {
                w.write(",\"map_key\":" + mapKey);
            }
            w.write(",\"value\":" + value + "}\n");
            count++;
        }
    }
}
