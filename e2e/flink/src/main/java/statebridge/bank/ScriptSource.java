package statebridge.bank;

import java.nio.file.Path;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.watermark.Watermark;

/**
 * Emits the script as far as Control allows. The barrier of a checkpoint leaves the source right after snapshotState, so the model at that
 * moment is exactly what the whole checkpoint must hold: that is written as its expected rows.
 */
final class ScriptSource extends LineSource<Operation> implements CheckpointedFunction {
    private final long seed;
    private final int accounts;
    private final int carts;
    private final boolean nulls;
    private final boolean steady;
    private final String expected;

    private transient Script script;
    private transient ListState<Long> position;
    private volatile boolean running = true;

    /** @param expected where the expected rows of each checkpoint go; null: nowhere */
    ScriptSource(long seed, int accounts, int carts, boolean nulls, boolean steady, String expected) {
        this.seed = seed;
        this.accounts = accounts;
        this.carts = carts;
        this.nulls = nulls;
        this.steady = steady;
        this.expected = expected;
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        position = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("position", Types.LONG));
        script = new Script(seed, accounts, carts, nulls, steady);
        for (long p : position.get()) {
            while (script.position() < p) {
                script.next();
            }
        }
        Control.allow(script.position());
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        position.clear();
        position.add(script.position());
        int rows = -1;
        if (expected != null && Control.rowsWanted()) {
            rows = script.model().write(Path.of(expected, "chk-" + context.getCheckpointId() + ".jsonl.gz"), script.position());
        }
        Control.barrier(context.getCheckpointId(), rows, script.model());
    }

    @Override
    public void run(SourceContext<Operation> context) throws Exception {
        while (running) {
            for (long n = Control.await(script.position()); n > 0 && running; n--) {
                synchronized (context.getCheckpointLock()) {
                    Operation o = script.next();
                    if (o.kind == Operation.Kind.TICK) {
                        context.emitWatermark(new Watermark(o.time));
                    } else {
                        context.collectWithTimestamp(o, o.time);
                    }
                }
            }
        }
    }

    @Override
    public void cancel() {
        running = false;
    }
}
