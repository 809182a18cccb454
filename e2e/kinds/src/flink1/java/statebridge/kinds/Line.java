package statebridge.kinds;

import org.apache.flink.core.execution.RestoreMode;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** What the lines of Flink do in their own ways. */
final class Line {
    /** Whether OVER may be ordered by a column that is no time. */
    static final boolean OVER_ANY_COLUMN = false;

    private Line() {}

    static <T> void discard(DataStream<T> stream) {
        stream.sinkTo(new DiscardingSink<>());
    }

    static SavepointRestoreSettings restore(String uri, boolean claim) {
        return SavepointRestoreSettings.forPath(uri, false, claim ? RestoreMode.CLAIM : RestoreMode.NO_CLAIM);
    }

    /** Adds what only this line has. */
    static void more(Values v) {
    }
}
