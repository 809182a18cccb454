package statebridge.peer;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.util.Collector;
import statebridge.bank.Profile;

/** Reads the profile of every key. What becomes of a row is a matter of the subclass; only its key travels on. */
abstract class Reader extends LineReader {
    private transient ValueState<Profile> profile;

    @Override
    void start() throws Exception {
        profile = getRuntimeContext().getState(new ValueStateDescriptor<>("profile", Types.POJO(Profile.class)));
    }

    @Override
    public void readKey(Long key, Context context, Collector<Long> out) throws Exception {
        row(key, profile.value());
        out.collect(key); // Flink 1.20 takes a key that gives nothing for the end
    }

    abstract void row(long key, Profile value) throws Exception;
}
