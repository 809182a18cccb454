package statebridge.bank;

import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.util.Collector;

/** Splits what concerns two accounts into one record for each. */
final class Legs implements FlatMapFunction<Operation, Operation> {
    @Override
    public void flatMap(Operation o, Collector<Operation> out) {
        switch (o.kind) {
            case OPEN, CLOSE -> {
                out.collect(o);
                out.collect(Operation.leg(0, o.kind == Operation.Kind.OPEN ? -o.amount : o.amount, o.time));
            }
            case REPLACE -> {
                out.collect(o.closing());
                out.collect(o.opening());
            }
            case TRANSFER -> {
                out.collect(Operation.leg(o.id, -o.amount, o.time));
                out.collect(Operation.leg(o.other, o.amount, o.time));
            }
            default -> out.collect(o);
        }
    }
}
