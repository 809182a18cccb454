package statebridge.peer;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackend;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.state.api.functions.KeyedStateReaderFunction;

/** What the two lines of Flink name differently: this is 1.20. */
abstract class LineReader extends KeyedStateReaderFunction<Long, Long> {
    static StateBackend backend() {
        return new EmbeddedRocksDBStateBackend();
    }

    @Override
    public void open(Configuration configuration) throws Exception {
        start();
    }

    abstract void start() throws Exception;
}
