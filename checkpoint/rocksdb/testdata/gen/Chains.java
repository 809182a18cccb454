import java.io.*;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.stream.*;
import java.util.zip.*;
import org.rocksdb.*;

/**
 * Writes chains of checkpoints of one database each, as a backend with incremental checkpoints takes them: a table that two checkpoints
 * have is stored once, under a hash of its content. See README.md.
 *
 *   0007/3/CURRENT, 0007/3/MANIFEST-000012   checkpoint 3 of chain 7
 *   0007/3/tables.txt                        000010.sst <hash>
 *   0007/3/scan.txt                          family key value, in hex: what RocksDB's iterator gave
 *   tables/<hash>
 */
public class Chains {
    static final String[] FAMILIES = {"default", "value", "list", "single"};
    static final int KEYS = 90, LARGE = 9020;
    static final Set<String> stored = new HashSet<>();
    static ZipOutputStream zip;

    final String name;
    final Random r;
    final ColumnFamilyOptions cfo;
    final DBOptions dbo = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true).setMaxBackgroundJobs(1);
    final WriteOptions w = new WriteOptions().setDisableWAL(true);
    final Path dir = Files.createTempDirectory("chains");
    final List<Set<Integer>> singlesAt = new ArrayList<>();
    Set<Integer> singles = new HashSet<>();
    RocksDB db;
    Map<String, ColumnFamilyHandle> cf;
    Snapshot held;
    int opened, outside;

    public static void main(String[] args) throws Exception {
        RocksDB.loadLibrary();
        zip = new ZipOutputStream(new GZIPOutputStream(new FileOutputStream(args[0]))); // together they pack better than each alone
        zip.setLevel(0);
        for (int i = 0; i < Integer.parseInt(args[1]); i++) new Chains(i).run();
        new Chains(9000).twins();
        new Chains(9005).back();
        new Chains(9010).ingestedTwice();
        new Chains(LARGE).large();
        zip.close();
    }

    Chains(int n) throws IOException {
        name = String.format("%04d", n);
        r = new Random(n * 7919L + 3);
        Properties p = new Properties();
        String filter = new String[] {"", "filter_policy=bloomfilter:10:false;", "filter_policy=ribbonfilter:10;"}[n % 3];
        String index = n % 4 == 3 ? "index_type=kTwoLevelIndexSearch;metadata_block_size=64;partition_filters=true;filter_policy=bloomfilter:10:false;" : filter;
        p.setProperty("block_based_table_factory", "{block_size=" + (n == LARGE ? 4096 : 256) + ";format_version=5;checksum=kXXH3;no_block_cache=true;" + index + "}");
        p.setProperty("compression", n == LARGE ? "kNoCompression" : "kSnappyCompression");
        p.setProperty("disable_auto_compactions", n % 5 == 4 ? "false" : "true");
        p.setProperty("level0_file_num_compaction_trigger", "3");
        p.setProperty("target_file_size_base", n == LARGE ? "80000" : "3000");
        cfo = ColumnFamilyOptions.getColumnFamilyOptionsFromProps(p);
        cfo.setMergeOperatorName("stringappendtest");
        if (n % 3 == 1) cfo.setCompactionFilter(new RemoveEmptyValueCompactionFilter()); // rows that a compaction drops, as TTL does
    }

    void run() throws Exception {
        open(dir.resolve("db0"));
        int checkpoints = 4 + r.nextInt(2);
        for (int c = 0; c < checkpoints; c++) {
            int steps = c == 0 ? 150 : r.nextInt(80);
            for (int i = 0; i < steps; i++) step();
            checkpoint(c);
            int dice = r.nextInt(100);
            if (dice < 20) restore(r.nextInt(c + 1));
            else if (dice < 35) reimport(r.nextInt(c + 1));
        }
        close();
        System.out.println(name);
    }

    void fill(String text) throws Exception {
        for (int i = 0; i < KEYS; i++) db.put(cf.get("value"), w, key(i), (text + i).getBytes());
        flush();
    }

    void put(int n, String text) throws Exception {
        db.put(cf.get("value"), w, key(n), text.getBytes());
        flush();
    }

    /** Two branches write another value under the same file number, size, bounds and sequence numbers. */
    void twins() throws Exception {
        open(dir.resolve("db0"));
        fill("a");
        checkpoint(0);
        restore(0);
        put(5, "here");
        checkpoint(1);
        restore(0);
        put(5, "else");
        checkpoint(2);
        close();
    }

    /** A key gets the value back that an older table, rewritten meanwhile, has; the one between is in a table that stays. */
    void back() throws Exception {
        open(dir.resolve("db0"));
        fill("a");
        compactAll();
        put(5, "between");
        checkpoint(0);
        put(5, "a5");
        List<String> bottom = new ArrayList<>();
        for (LiveFileMetaData m : db.getLiveFilesMetaData()) if (m.level() > 0) bottom.add(m.fileName());
        db.compactFiles(new CompactionOptions(), cf.get("value"), bottom, 6, -1, null);
        checkpoint(1);
        close();
    }

    /** The same table is ingested below a value in one branch and above it in another. */
    void ingestedTwice() throws Exception {
        Path f = dir.resolve("outside");
        try (Options o = new Options(new DBOptions(), cfo); EnvOptions eo = new EnvOptions(); SstFileWriter s = new SstFileWriter(eo, o)) {
            s.open(f.toString());
            s.put(key(5), "ingested".getBytes());
            s.finish();
        }
        open(dir.resolve("db0"));
        fill("a");
        checkpoint(0);
        try (IngestExternalFileOptions io = new IngestExternalFileOptions().setWriteGlobalSeqno(false)) {
            db.ingestExternalFile(cf.get("value"), List.of(f.toString()), io);
            put(5, "above");
            checkpoint(1);
            restore(0);
            put(5, "above");
            db.ingestExternalFile(cf.get("value"), List.of(f.toString()), io);
            checkpoint(2);
        }
        close();
    }

    /** Large tables that stay, and few rows that change: one in each key group, then some more. */
    void large() throws Exception {
        open(dir.resolve("db0"));
        for (int i = 0; i < 6000; i++) db.put(cf.get("value"), w, wide(i), ("a value of some bytes, number " + i).getBytes());
        compactAll();
        checkpoint(0);
        for (int i = 0; i < 6000; i += 300) db.put(cf.get("value"), w, wide(i), ("changed " + i).getBytes());
        db.delete(cf.get("value"), w, wide(77));
        checkpoint(1);
        for (int i = 0; i < 6000; i += 6) db.put(cf.get("value"), w, wide(i), ("many " + i).getBytes());
        checkpoint(2);
        close();
    }

    static byte[] wide(int i) { return String.format("%c%05d", i / 50, i).getBytes(java.nio.charset.StandardCharsets.ISO_8859_1); }

    void open(Path at) throws Exception {
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        List<ColumnFamilyDescriptor> d = new ArrayList<>();
        for (String f : FAMILIES) d.add(new ColumnFamilyDescriptor(f.getBytes(), cfo));
        db = RocksDB.open(dbo, at.toString(), d, handles);
        cf = new LinkedHashMap<>();
        for (int i = 0; i < FAMILIES.length; i++) cf.put(FAMILIES[i], handles.get(i));
    }

    void close() {
        release();
        for (ColumnFamilyHandle h : cf.values()) h.close();
        db.close();
    }

    void release() {
        if (held != null) db.releaseSnapshot(held);
        held = null;
    }

    byte[] key(int n) {
        byte[] tail = Integer.toString(n * 7919 % 1009).getBytes();
        byte[] k = new byte[1 + tail.length];
        k[0] = (byte) (n % 6 * 20);
        System.arraycopy(tail, 0, k, 1, tail.length);
        return k;
    }

    byte[] value() {
        byte[] v = new byte[r.nextInt(6) == 0 ? 0 : r.nextInt(4) == 0 ? 1 : r.nextInt(14)];
        for (int i = 0; i < v.length; i++) v[i] = (byte) (r.nextInt(3) == 0 ? ',' : 'a' + r.nextInt(3));
        return v;
    }

    /** One operation. Values repeat, so that a key may get back what it had. */
    void step() throws Exception {
        int n = r.nextInt(KEYS), dice = r.nextInt(1000);
        byte[] k = key(n);
        ColumnFamilyHandle value = cf.get("value"), list = cf.get("list"), single = cf.get("single");
        if (dice < 330) db.put(value, w, k, value());
        else if (dice < 450) db.delete(value, w, k);
        else if (dice < 620) db.merge(list, w, k, value());
        else if (dice < 660) db.put(list, w, k, value());
        else if (dice < 720) db.delete(list, w, k);
        else if (dice < 860) {
            if (singles.add(n)) db.put(single, w, k, value());
            else { singles.remove(n); db.singleDelete(single, w, k); }
        } else if (dice < 890) {
            ColumnFamilyHandle h = r.nextBoolean() ? value : list;
            byte[] a = key(r.nextInt(KEYS)), b = r.nextInt(3) == 0 ? new byte[] {(byte) (a[0] + 1 + r.nextInt(40))} : key(r.nextInt(KEYS));
            if (Arrays.compareUnsigned(a, b) < 0) db.deleteRange(h, w, a, b);
        } else if (dice < 930) flush();
        else if (dice < 960) compactSome();
        else if (dice < 970) compactAll();
        else if (dice < 975) ingest(r.nextBoolean() ? value : single);
        else if (dice < 985) {
            release();
            held = db.getSnapshot(); // older entries stay in the tables
        } else release();
    }

    void flush() throws Exception {
        try (FlushOptions fo = new FlushOptions().setWaitForFlush(true)) {
            for (ColumnFamilyHandle h : cf.values()) db.flush(fo, h);
        }
    }

    /** A range of keys, or a few tables, to some level. */
    void compactSome() throws Exception {
        ColumnFamilyHandle h = cf.get(FAMILIES[1 + r.nextInt(3)]);
        byte[] a = {(byte) (r.nextInt(5) * 20)}, b = {(byte) (a[0] + 20 + r.nextInt(60))};
        if (r.nextBoolean()) {
            db.compactRange(h, a, b);
            return;
        }
        flush();
        List<String> inputs = new ArrayList<>();
        for (LiveFileMetaData m : db.getLiveFilesMetaData())
            if (m.level() == 0 && Arrays.equals(m.columnFamilyName(), h.getName())) inputs.add(m.fileName());
        try {
            if (!inputs.isEmpty()) db.compactFiles(new CompactionOptions().setOutputFileSizeLimit(2000), h, inputs, 1 + r.nextInt(6), -1, null);
        } catch (RocksDBException e) {
            // A level between holds other entries, or a compaction of RocksDB's own was quicker: then not.
        }
    }

    void compactAll() throws Exception {
        try (CompactRangeOptions o = new CompactRangeOptions().setBottommostLevelCompaction(CompactRangeOptions.BottommostLevelCompaction.kForce)) {
            for (ColumnFamilyHandle h : cf.values()) db.compactRange(h, null, null, o);
        }
    }

    /** A table made outside. Its entries have no number of their own: the same bytes may get another one in another branch. */
    void ingest(ColumnFamilyHandle h) throws Exception {
        if (Arrays.equals(h.getName(), "single".getBytes())) return;
        Path f = dir.resolve("outside" + outside++);
        try (Options o = new Options(new DBOptions(), cfo); EnvOptions eo = new EnvOptions(); SstFileWriter s = new SstFileWriter(eo, o)) {
            s.open(f.toString());
            TreeMap<String, byte[]> keys = new TreeMap<>();
            for (int i = 0; i < 6; i++) { byte[] k = key(i * 7); keys.put(hex(k), k); }
            for (byte[] k : keys.values()) {
                if (k[k.length - 1] % 3 == 0) s.delete(k);
                else s.put(k, "ingested".getBytes());
            }
            s.finish();
        }
        try (IngestExternalFileOptions io = new IngestExternalFileOptions().setWriteGlobalSeqno(false)) { db.ingestExternalFile(h, List.of(f.toString()), io); }
    }

    void checkpoint(int c) throws Exception {
        Path at = dir.resolve("chk" + c);
        try (Checkpoint cp = Checkpoint.create(db)) { cp.createCheckpoint(at.toString()); }
        singlesAt.add(new HashSet<>(singles));
        StringBuilder tables = new StringBuilder();
        String[] names = at.toFile().list();
        Arrays.sort(names);
        for (String f : names) {
            byte[] b = Files.readAllBytes(at.resolve(f));
            if (f.endsWith(".sst")) {
                String id = hex(MessageDigest.getInstance("SHA-256").digest(b)).substring(0, 16);
                tables.append(f).append(' ').append(id).append('\n');
                if (stored.add(id)) put("tables/" + id, b);
            } else if (f.equals("CURRENT") || f.startsWith("MANIFEST")) put(name + "/" + c + "/" + f, b);
            else if (f.endsWith(".log") && b.length > 0) throw new IllegalStateException(f);
        }
        put(name + "/" + c + "/tables.txt", tables.toString().getBytes());
        put(name + "/" + c + "/scan.txt", scan(at).getBytes());
    }

    /** What RocksDB reads in the checkpoint itself. */
    String scan(Path at) throws Exception {
        StringBuilder b = new StringBuilder();
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        List<ColumnFamilyDescriptor> d = new ArrayList<>();
        for (String f : FAMILIES) d.add(new ColumnFamilyDescriptor(f.getBytes(), cfo));
        try (RocksDB db = RocksDB.openReadOnly(new DBOptions(), at.toString(), d, handles)) {
            for (int i = 0; i < FAMILIES.length; i++)
                try (RocksIterator it = db.newIterator(handles.get(i))) {
                    for (it.seekToFirst(); it.isValid(); it.next())
                        b.append(FAMILIES[i]).append(' ').append(hex(it.key())).append(' ').append(hex(it.value())).append('\n');
                    it.status();
                }
            for (ColumnFamilyHandle h : handles) h.close();
        }
        return b.toString();
    }

    /** Goes on from an earlier checkpoint: file numbers and sequence numbers are given out a second time. */
    void restore(int c) throws Exception {
        close();
        Path at = copy(c);
        open(at);
        singles = new HashSet<>(singlesAt.get(c));
    }

    /** Goes on in a new database that the tables of an earlier checkpoint are imported into: they get other numbers. */
    void reimport(int c) throws Exception {
        close();
        open(copy(c));
        Map<String, ExportImportFilesMetaData> exported = new LinkedHashMap<>();
        int n = ++opened;
        for (int i = 1; i < FAMILIES.length; i++)
            try (Checkpoint cp = Checkpoint.create(db)) { exported.put(FAMILIES[i], cp.exportColumnFamily(cf.get(FAMILIES[i]), dir.resolve("export" + n + FAMILIES[i]).toString())); }
        close();
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        db = RocksDB.open(dbo, dir.resolve("db" + n).toString(), List.of(new ColumnFamilyDescriptor("default".getBytes(), cfo)), handles);
        cf = new LinkedHashMap<>();
        cf.put("default", handles.get(0));
        db.put(handles.get(0), w, new byte[] {1}, new byte[] {(byte) n}); // numbers move on
        flush();
        try (ImportColumnFamilyOptions o = new ImportColumnFamilyOptions()) {
            for (Map.Entry<String, ExportImportFilesMetaData> e : exported.entrySet())
                cf.put(e.getKey(), db.createColumnFamilyWithImport(new ColumnFamilyDescriptor(e.getKey().getBytes(), cfo), o, List.of(e.getValue())));
        }
        singles = new HashSet<>(singlesAt.get(c));
    }

    Path copy(int c) throws IOException {
        Path at = dir.resolve("db" + ++opened);
        Files.createDirectory(at);
        for (File f : dir.resolve("chk" + c).toFile().listFiles()) Files.copy(f.toPath(), at.resolve(f.getName()));
        return at;
    }

    static String hex(byte[] b) { return HexFormat.of().formatHex(b); }

    static void put(String name, byte[] b) throws IOException {
        ZipEntry e = new ZipEntry(name);
        e.setTime(0);
        zip.putNextEntry(e);
        zip.write(b);
        zip.closeEntry();
    }
}
