package statebridge.kinds;

import org.apache.flink.core.execution.RestoreMode;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** What the lines of Flink do in their own ways. */
final class Line {
    /** Whether OVER may be ordered by a column that is no time. */
    static final boolean OVER_ANY_COLUMN = false;

    /** A value of a class that is known by its number and name only, and a list that holds one. */
    static final String PLAIN = "{\"$raw\":\"WQEKAQBqYXZhLnV0aWwuQXJyYXlMaXP0AQABZml25Q==\"}", PLAINS = "{\"$raw\":\"WgEE0B8sWQEKAQBqYXZhLnV0aWwuQXJyYXlMaXP0AQABZml25SwDAYJ4\"}";

    private Line() {}

    static <T> void discard(DataStream<T> stream) {
        stream.sinkTo(new DiscardingSink<>());
    }

    static SavepointRestoreSettings restore(String uri, boolean claim) {
        return SavepointRestoreSettings.forPath(uri, false, claim ? RestoreMode.CLAIM : RestoreMode.NO_CLAIM);
    }

    static void corners(DataStream<Tuple2<String, Long>> records) {
    }

    static void functions(Sql s) {
    }

    /** Adds what only this line has. */
    static void more(Values v) {
    }
}
