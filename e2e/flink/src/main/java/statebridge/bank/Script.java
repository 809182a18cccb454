package statebridge.bank;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** The same operations for the same seed, and beside them what the state must hold after each. */
final class Script {
    static final long START = 1_700_000_000_000L;
    private static final long STEP = 20;
    private static final int TICK_EVERY = 50;
    private static final String[] ITEMS = {
        "apple", "bread", "cheese", "dates", "eggs", "figs", "grapes", "honey", "ice cream", "jam", "kale", "lemon \"bio\""
    };

    private final Random random;
    private final int accounts;
    private final int carts;
    private final boolean nulls;
    private final boolean steady;
    private final List<Long> open = new ArrayList<>();
    private final Model model = new Model();
    private long position;
    private long lastId;

    /** @param steady an account is closed only as another one is opened */
    Script(long seed, int accounts, int carts, boolean nulls, boolean steady) {
        this.random = new Random(seed);
        this.accounts = accounts;
        this.carts = carts;
        this.nulls = nulls;
        this.steady = steady;
    }

    /** How many operations have been drawn. */
    long position() {
        return position;
    }

    Model model() {
        return model;
    }

    Operation next() {
        position++;
        Operation o = draw(START + position * STEP);
        model.apply(o);
        return o;
    }

    private Operation draw(long time) {
        if (position % TICK_EVERY == 0) {
            return Operation.of(Operation.Kind.TICK, 0, time);
        }
        if (lastId < accounts) {
            return openAccount(time);
        }
        int dice = random.nextInt(100);
        if (dice < 45) {
            return transfer(time);
        } else if (dice < 57) {
            Operation o = Operation.of(Operation.Kind.PROFILE, anyAccount(), time);
            o.profile = Profile.random(o.id, random);
            return o;
        } else if (dice < 69 && steady) {
            return replaceAccount(time);
        } else if (dice < 69) {
            // As many close as open, within bounds.
            boolean close = random.nextBoolean() ? open.size() > accounts / 2 : open.size() > accounts * 3 / 2;
            return close ? closeAccount(time) : openAccount(time);
        }
        return changeCart(dice, time);
    }

    private Operation openAccount(long time) {
        Operation o = Operation.of(Operation.Kind.OPEN, ++lastId, time);
        o.amount = random.nextInt(1_000_000);
        o.profile = Profile.random(o.id, random);
        open.add(o.id);
        return o;
    }

    private Operation closeAccount(long time) {
        int i = random.nextInt(open.size());
        Operation o = Operation.of(Operation.Kind.CLOSE, open.get(i), time);
        o.amount = model.balance(o.id);
        open.set(i, open.get(open.size() - 1));
        open.remove(open.size() - 1);
        return o;
    }

    private Operation replaceAccount(long time) {
        int i = random.nextInt(open.size());
        Operation o = Operation.of(Operation.Kind.REPLACE, open.get(i), time);
        o.other = ++lastId;
        o.amount = model.balance(o.id);
        o.profile = Profile.random(o.other, random);
        open.set(i, o.other);
        return o;
    }

    private Operation transfer(long time) {
        Operation o = Operation.of(Operation.Kind.TRANSFER, anyAccount(), time);
        o.other = anyAccount();
        o.amount = random.nextInt(10_000);
        return o;
    }

    private Operation changeCart(int dice, long time) {
        Operation.Kind kind = dice < 88 ? Operation.Kind.PUT : dice < 97 ? Operation.Kind.REMOVE : Operation.Kind.CLEAR;
        Operation o = Operation.of(kind, 0, time);
        o.cart = "cart-" + random.nextInt(carts);
        o.item = ITEMS[random.nextInt(ITEMS.length)];
        o.quantity = nulls && random.nextInt(8) == 0 ? null : (Integer) (1 + random.nextInt(20));
        return o;
    }

    private long anyAccount() {
        return open.get(random.nextInt(open.size()));
    }
}
