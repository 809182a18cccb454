package statebridge.bank;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Keeps an account's balance, its holder's profile, and its legs of the last ten seconds. */
final class AccountsFunction extends KeyedProcessFunction<Long, Operation, Void> {
    private transient ValueState<Long> balance;
    private transient ValueState<Profile> profile;
    private transient ListState<Long> recent;

    @Override
    public void open(OpenContext context) {
        balance = getRuntimeContext().getState(new ValueStateDescriptor<>("balance", Types.LONG));
        profile = getRuntimeContext().getState(new ValueStateDescriptor<>("profile", Types.POJO(Profile.class)));
        recent = getRuntimeContext().getListState(new ListStateDescriptor<>("recent", Types.LONG));
    }

    @Override
    public void processElement(Operation o, Context context, Collector<Void> out) throws Exception {
        switch (o.kind) {
            case OPEN -> {
                profile.update(o.profile);
                leg(o, context);
            }
            case LEG -> leg(o, context);
            case PROFILE -> {
                profile.update(o.profile);
                context.timerService().deleteEventTimeTimer(Model.timerFor(o.time));
            }
            case CLOSE -> {
                balance.clear();
                profile.clear();
                recent.clear();
            }
            default -> throw new IllegalStateException("no operation of an account: " + o.kind);
        }
    }

    private void leg(Operation o, Context context) throws Exception {
        Long old = balance.value();
        balance.update((old == null ? 0 : old) + o.amount);
        recent.add(o.amount);
        context.timerService().registerEventTimeTimer(Model.timerFor(o.time));
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<Void> out) {
        recent.clear();
    }
}
