package statebridge.peer;

import java.io.BufferedWriter;
import java.io.FileOutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.LongAdder;
import statebridge.bank.Profile;

/** Writes each row as a line of JSON; every task has a stream of its own. */
final class Export extends Reader {
    static final LongAdder rows = new LongAdder();

    private final String file;
    private transient Writer out;
    private transient StringBuilder line;

    Export(String file) {
        this.file = file;
    }

    @Override
    void start() throws Exception {
        super.start();
        out = new BufferedWriter(new OutputStreamWriter(new FileOutputStream(file, true), StandardCharsets.UTF_8), 1 << 16);
        line = new StringBuilder();
    }

    @Override
    void row(long key, Profile value) throws Exception {
        line.setLength(0);
        Line.key(line, key).append(",\"value\":");
        out.append(Line.value(line, value).append("}\n"));
        rows.increment();
    }

    @Override
    public void close() throws Exception {
        if (out != null) {
            out.close();
        }
        super.close();
    }
}
