package statebridge.peer;

import java.util.concurrent.atomic.LongAdder;
import statebridge.bank.Profile;

/** Reads each row and does nothing with it. */
final class Count extends Reader {
    static final LongAdder rows = new LongAdder();

    @Override
    void row(long key, Profile value) {
        rows.increment();
    }
}
