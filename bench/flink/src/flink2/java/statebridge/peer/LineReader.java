package statebridge.peer;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.state.api.functions.KeyedStateReaderFunction;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;

/** What the two lines of Flink name differently: this is 2.x. */
abstract class LineReader extends KeyedStateReaderFunction<Long, Long> {
    static StateBackend backend() {
        return new EmbeddedRocksDBStateBackend();
    }

    @Override
    public void open(OpenContext context) throws Exception {
        start();
    }

    abstract void start() throws Exception;
}
