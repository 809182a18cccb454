package statebridge.bank;

/**
 * One step of the script. A transfer is one record and becomes its two legs only behind the source, so both legs are on the same side of
 * a checkpoint's barrier and the sum of all balances is zero in every checkpoint.
 */
public class Operation {
    public enum Kind {
        /** Opens account id with a profile and an amount that comes out of the bank's own account 0. */
        OPEN,
        /** Moves an amount from account id to account other. */
        TRANSFER,
        /** Gives account id another profile. */
        PROFILE,
        /** Closes account id; its balance, amount, goes back to account 0. */
        CLOSE,
        /** Closes account id and opens account other with its balance, so that there are as many as before. */
        REPLACE,
        /** Sets the quantity of an item in a cart; null: not known yet. */
        PUT,
        /** Takes an item out of a cart. */
        REMOVE,
        /** Empties a cart. */
        CLEAR,
        /** Event time moves on. */
        TICK,
        /** One side of a transfer; made behind the source. */
        LEG
    }

    public Kind kind;
    public long id;
    public long other;
    public long amount;
    public long time;
    public String cart;
    public String item;
    public Integer quantity;
    public Profile profile;

    public Operation() {}

    static Operation of(Kind kind, long id, long time) {
        Operation o = new Operation();
        o.kind = kind;
        o.id = id;
        o.time = time;
        return o;
    }

    /** The half of a replacement that closes; behind the source. */
    Operation closing() {
        return of(Kind.CLOSE, id, time);
    }

    /** The half of a replacement that opens; behind the source. */
    Operation opening() {
        Operation o = of(Kind.OPEN, other, time);
        o.amount = amount;
        o.profile = profile;
        return o;
    }

    static Operation leg(long id, long amount, long time) {
        Operation o = of(Kind.LEG, id, time);
        o.amount = amount;
        return o;
    }

    boolean ofCart() {
        return cart != null;
    }
}
