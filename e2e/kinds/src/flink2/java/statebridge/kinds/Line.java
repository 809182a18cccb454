package statebridge.kinds;

import java.util.List;
import java.util.Set;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** What the lines of Flink do in their own ways. */
final class Line {
    /** Whether OVER may be ordered by a column that is no time. */
    static final boolean OVER_ANY_COLUMN = true;

    /** A value of a class that is known by its number and name only, and a list that holds one. */
    static final String PLAIN = "{\"$raw\":\"WQEKAQBqYXZhLnV0aWwuQXJyYXlMaXP0AQEBZml25Q==\"}", PLAINS = "{\"$raw\":\"WgHoDwIsWQEKAQBqYXZhLnV0aWwuQXJyYXlMaXP0AQEBZml25SwDAYJ4\"}";

    private Line() {}

    static <T> void discard(DataStream<T> stream) {
        stream.sinkTo(new DiscardingSink<>());
    }

    static SavepointRestoreSettings restore(String uri, boolean claim) {
        return SavepointRestoreSettings.forPath(uri, false, claim ? RecoveryClaimMode.CLAIM : RecoveryClaimMode.NO_CLAIM);
    }

    static void corners(DataStream<Tuple2<String, Long>> records) {
        Line.discard(records.keyBy(t -> t.f0, Types.STRING).enableAsyncState().process(new Later(), Types.VOID).uid("later").name("later"));
    }

    static void functions(Sql s) {
        Processes.add(s);
    }

    /** Adds what only this line has. */
    static void more(Values v) {
        v.value("set", Types.SET(Types.STRING), Set.of("one"), "[\"one\"]", Set.of(), "[]");
        v.value("set_of_lists", Types.SET(Types.LIST(Types.LONG)), Set.of(List.of(1L, 2L)), "[[1,2]]");
    }
}
