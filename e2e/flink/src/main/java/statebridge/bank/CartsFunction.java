package statebridge.bank;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Keeps the quantity of each item in a cart. */
final class CartsFunction extends KeyedProcessFunction<String, Operation, Void> {
    private transient MapState<String, Integer> items;

    @Override
    public void open(OpenContext context) {
        items = getRuntimeContext().getMapState(new MapStateDescriptor<>("items", Types.STRING, Types.INT));
    }

    @Override
    public void processElement(Operation o, Context context, Collector<Void> out) throws Exception {
        switch (o.kind) {
            case PUT -> items.put(o.item, o.quantity);
            case REMOVE -> items.remove(o.item);
            case CLEAR -> items.clear();
            default -> throw new IllegalStateException("no operation of a cart: " + o.kind);
        }
    }
}
