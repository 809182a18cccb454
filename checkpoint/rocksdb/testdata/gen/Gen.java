import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.zip.*;
import org.rocksdb.*;

/** Writes small databases with RocksDB itself, each packed with the scan that RocksDB gives of it. See README.md. */
public class Gen {
    static final String[] FAMILIES = {"default", "value", "list", "single"};
    static Path out;
    static String only;

    public static void main(String[] args) throws Exception {
        RocksDB.loadLibrary();
        out = Path.of(args[0]);
        only = args.length > 2 ? args[2] : "";
        switch (args[1]) {
            case "6": six(); break;
            case "8": eight(); break;
            case "10": ten(); break;
            default: throw new IllegalArgumentException(args[1]);
        }
    }

    static void six() throws Exception {
        mixed("six-fv0", "format_version=0", "kSnappyCompression");
        mixed("six-fv1-zlib", "format_version=1", "kZlibCompression");
        mixed("six-fv1-lz4", "format_version=1;checksum=kxxHash", "kLZ4Compression");
        mixed("six-fv2", "format_version=2;filter_policy=bloomfilter:10:false", "kSnappyCompression");
        mixed("six-fv3-two-level", "format_version=3;index_type=kTwoLevelIndexSearch;metadata_block_size=128;partition_filters=true;filter_policy=bloomfilter:10:false", "kSnappyCompression");
        mixed("six-fv4-restart16", "format_version=4;index_block_restart_interval=16;checksum=kxxHash64;filter_policy=bloomfilter:10:false", "kLZ4Compression");
        mixed("six-fv5", "format_version=5;filter_policy=bloomfilter:10:false", "kSnappyCompression");
        ranges("six-ranges", "format_version=5", "kSnappyCompression");
        lengths("six-lengths", "format_version=4;filter_policy=bloomfilter:10:false");
        ingest("six-ingest", "format_version=5;filter_policy=bloomfilter:10:false", true);
    }

    static void eight() throws Exception {
        mixed("eight-fv5-xxh3", "format_version=5;checksum=kXXH3;filter_policy=bloomfilter:10:false", "kSnappyCompression");
        mixed("eight-none", "format_version=5;checksum=kNoChecksum", "kNoCompression");
        mixed("eight-bzip2", "format_version=5;checksum=kxxHash", "kBZip2Compression");
        mixed("eight-lz4hc", "format_version=5;checksum=kXXH3", "kLZ4HCCompression");
        mixed("eight-zstd", "format_version=5;checksum=kXXH3", "kZSTD");
        mixed("eight-zlib", "format_version=5;checksum=kXXH3", "kZlibCompression");
        mixed("eight-zstd-dict", "format_version=5;checksum=kXXH3", "kZSTD", "max_dict_bytes=4096");
        mixed("eight-zstd-trained", "format_version=5;checksum=kXXH3", "kZSTD", "max_dict_bytes=4096;zstd_max_train_bytes=65536");
        mixed("eight-lz4-dict", "format_version=5;checksum=kXXH3", "kLZ4Compression", "max_dict_bytes=4096");
        mixed("eight-zlib-dict", "format_version=5;checksum=kXXH3", "kZlibCompression", "max_dict_bytes=4096");
        mixed("eight-two-level", "format_version=5;checksum=kXXH3;index_type=kTwoLevelIndexSearch;metadata_block_size=128;partition_filters=true;filter_policy=bloomfilter:10:false", "kSnappyCompression");
        mixed("eight-first-key", "format_version=5;checksum=kXXH3;index_type=kBinarySearchWithFirstKey;index_block_restart_interval=4", "kSnappyCompression");
        mixed("eight-hash", "format_version=5;checksum=kXXH3;index_type=kHashSearch;data_block_index_type=kDataBlockBinaryAndHash;data_block_hash_table_util_ratio=0.75", "kSnappyCompression");
        mixed("eight-ribbon", "format_version=5;checksum=kXXH3;filter_policy=ribbonfilter:10", "kSnappyCompression");
        mixed("eight-fv6", "format_version=6;checksum=kXXH3;filter_policy=bloomfilter:10:false", "kSnappyCompression");
        mixed("eight-fv6-crc", "format_version=6;checksum=kCRC32c;index_type=kTwoLevelIndexSearch;metadata_block_size=128", "kZSTD");
        ranges("eight-ranges", "format_version=5;checksum=kXXH3", "kSnappyCompression");
        ingest("eight-ingest", "format_version=5;checksum=kXXH3;filter_policy=bloomfilter:10:false", false);
        ingest("eight-ingest-written", "format_version=6;checksum=kXXH3;filter_policy=bloomfilter:10:false", true);
        lengths("eight-lengths", "format_version=5;checksum=kXXH3;filter_policy=bloomfilter:10:false");
        lengths("eight-lengths-ribbon", "format_version=6;checksum=kXXH3;filter_policy=ribbonfilter:10");
        bench("eight-bench");
        refused();
    }

    static void ten() throws Exception {
        mixed("ten-fv7", "format_version=7;checksum=kXXH3;filter_policy=ribbonfilter:10", "kZSTD");
        mixed("ten-fv7-lz4", "format_version=7;checksum=kXXH3;index_type=kTwoLevelIndexSearch;metadata_block_size=128;partition_filters=true;decouple_partitioned_filters=true;filter_policy=bloomfilter:10:false", "kLZ4Compression");
        mixed("ten-fv6", "format_version=6;checksum=kxxHash64;filter_policy=bloomfilter:10:false", "kSnappyCompression", "max_dict_bytes=4096");
        ranges("ten-ranges", "format_version=7;checksum=kXXH3", "kSnappyCompression");
    }

    static ColumnFamilyOptions options(String table, String compression, String... more) {
        Properties p = new Properties();
        p.setProperty("block_based_table_factory", "{block_size=512;cache_index_and_filter_blocks=false;no_block_cache=true;" + table + "}");
        p.setProperty("compression", compression);
        p.setProperty("disable_auto_compactions", "true");
        p.setProperty("target_file_size_base", "20000");
        if (table.contains("kHashSearch")) p.setProperty("prefix_extractor", "fixed:1");
        if (more.length > 0) p.setProperty("compression_opts", "{" + more[0] + "}");
        ColumnFamilyOptions o = ColumnFamilyOptions.getColumnFamilyOptionsFromProps(p);
        if (o == null) throw new IllegalArgumentException(table);
        o.setMergeOperatorName("stringappendtest");
        return o;
    }

    interface Work { void run(RocksDB db, Map<String, ColumnFamilyHandle> cf, Path dir) throws Exception; }

    static void database(String name, ColumnFamilyOptions cfo, Work work) throws Exception {
        if (!name.startsWith(only)) return;
        Path dir = Files.createTempDirectory("gen");
        Map<String, ColumnFamilyHandle> cf = new TreeMap<>();
        try (DBOptions dbo = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true)) {
            List<ColumnFamilyDescriptor> descriptors = new ArrayList<>();
            for (String f : FAMILIES) descriptors.add(new ColumnFamilyDescriptor(f.getBytes(), cfo));
            List<ColumnFamilyHandle> handles = new ArrayList<>();
            try (RocksDB db = RocksDB.open(dbo, dir.resolve("db").toString(), descriptors, handles)) {
                for (int i = 0; i < FAMILIES.length; i++) cf.put(FAMILIES[i], handles.get(i));
                work.run(db, cf, dir);
                try (Checkpoint c = Checkpoint.create(db)) { c.createCheckpoint(dir.resolve("chk").toString()); }
                pack(name, dir.resolve("chk"), scan(db, cf));
                for (ColumnFamilyHandle h : handles) h.close();
            }
        }
        System.out.println(name);
    }

    static String scan(RocksDB db, Map<String, ColumnFamilyHandle> cf) throws Exception {
        StringBuilder b = new StringBuilder();
        for (Map.Entry<String, ColumnFamilyHandle> e : cf.entrySet()) {
            try (ReadOptions ro = new ReadOptions().setTotalOrderSeek(true); RocksIterator it = db.newIterator(e.getValue(), ro)) {
                for (it.seekToFirst(); it.isValid(); it.next())
                    b.append(e.getKey()).append(' ').append(hex(it.key())).append(' ').append(hex(it.value())).append('\n');
                it.status();
            }
        }
        return b.toString();
    }

    static String hex(byte[] b) { return java.util.HexFormat.of().formatHex(b); }

    static void pack(String name, Path dir, String scan) throws Exception {
        try (ZipOutputStream z = new ZipOutputStream(new FileOutputStream(out.resolve(name + ".zip").toFile()))) {
            z.setLevel(9);
            String[] names = dir.toFile().list();
            Arrays.sort(names);
            for (String f : names) {
                if (f.startsWith("OPTIONS") || f.endsWith(".log") || f.startsWith("LOG") || f.equals("LOCK")) continue;
                put(z, f, Files.readAllBytes(dir.resolve(f)));
            }
            put(z, "scan.txt", scan.getBytes());
        }
    }

    static void put(ZipOutputStream z, String name, byte[] b) throws IOException {
        ZipEntry e = new ZipEntry(name);
        e.setTime(0);
        z.putNextEntry(e);
        z.write(b);
        z.closeEntry();
    }

    // Keys as Flink writes them: a key group, then the serialized key, of various lengths.
    static byte[] key(int n) {
        String s = Integer.toString(n * 7919 % 100003);
        byte[] tail = ("user-" + s + "x".repeat(n % 29 == 0 ? 200 : n % 5)).getBytes();
        byte[] k = new byte[1 + tail.length];
        k[0] = (byte) (n % 8 * 16);
        System.arraycopy(tail, 0, k, 1, tail.length);
        return k;
    }

    static byte[] value(Random r, int n) {
        int len = r.nextInt(120) == 0 ? 1500 : r.nextInt(8) == 0 ? 0 : r.nextInt(40);
        byte[] v = new byte[len];
        for (int i = 0; i < len; i++) v[i] = (byte) (r.nextInt(9) == 0 ? r.nextInt(256) : 'a' + i % 7);
        return v;
    }

    static byte[] operand(Random r) {
        byte[] v = new byte[r.nextInt(4) == 0 ? 0 : r.nextInt(12)];
        for (int i = 0; i < v.length; i++) v[i] = (byte) (r.nextInt(3) == 0 ? 0x2C : r.nextInt(64));
        return v;
    }

    /** A random history of puts, deletes, single deletes, merges and range deletes, flushed and in part compacted on the way. */
    static void mixed(String name, String table, String compression, String... more) throws Exception {
        ColumnFamilyOptions cfo = options(table, compression, more);
        boolean ranges = !table.contains("kHashSearch"); // RocksDB itself refuses them there
        database(name, cfo, (db, cf, dir) -> {
            Random r = new Random(name.hashCode());
            WriteOptions w = new WriteOptions().setDisableWAL(true);
            Set<Integer> singles = new HashSet<>();
            for (int i = 0; i < 1600; i++) {
                int n = r.nextInt(350);
                byte[] k = key(n);
                int dice = r.nextInt(100);
                if (dice < 40) db.put(cf.get("value"), w, k, value(r, n));
                else if (dice < 50) db.delete(cf.get("value"), w, k);
                else if (dice < 75) db.merge(cf.get("list"), w, k, operand(r));
                else if (dice < 80) db.put(cf.get("list"), w, k, operand(r));
                else if (dice < 85) db.delete(cf.get("list"), w, k);
                else if (dice < 97) {
                    if (singles.add(n)) db.put(cf.get("single"), w, k, value(r, n));
                    else { singles.remove(n); db.singleDelete(cf.get("single"), w, k); }
                } else if (ranges) {
                    String f = dice < 99 ? "value" : "list";
                    byte[] a = key(r.nextInt(350)), b;
                    b = Arrays.copyOf(a, a.length);
                    b[b.length - 1 - r.nextInt(3)] += 3;
                    if (Arrays.compareUnsigned(a, b) < 0) db.deleteRange(cf.get(f), w, a, b);
                }
                if (i % 200 == 199) flush(db, cf);
                if (i % 500 == 499) {
                    byte[] a = {(byte) (r.nextInt(4) * 16)}, b = {(byte) (a[0] + 48)};
                    for (ColumnFamilyHandle h : cf.values()) db.compactRange(h, a, b);
                }
            }
            flush(db, cf);
        });
    }

    static void flush(RocksDB db, Map<String, ColumnFamilyHandle> cf) throws Exception {
        try (FlushOptions fo = new FlushOptions().setWaitForFlush(true)) {
            for (ColumnFamilyHandle h : cf.values()) db.flush(fo, h);
        }
    }

    static byte[] num(int n) { return String.format("k%05d", n).getBytes(); }

    /** A range tombstone over several files of a middle level, of which one is dropped and one compacted to the bottom: there the tombstone is gone. */
    static void ranges(String name, String table, String compression) throws Exception {
        database(name, options(table, compression), (db, cf, dir) -> {
            ColumnFamilyHandle h = cf.get("value");
            WriteOptions w = new WriteOptions().setDisableWAL(true);
            Random r = new Random(7);
            for (int i = 0; i < 600; i++) db.put(h, w, num(i), value(r, i));
            move(db, cf, h, 0, 6, 4000);
            db.deleteRange(h, w, num(50), num(450));
            for (int i = 0; i < 600; i += 3) db.put(h, w, num(i), ("new" + i + "x".repeat(i % 10) + new Random(i).nextLong() + new Random(-i).nextLong()).getBytes());
            db.deleteRange(h, w, num(500), num(520));
            move(db, cf, h, 0, 3, 1500);
            List<LiveFileMetaData> mid = level(db, h, 3);
            LiveFileMetaData gone = mid.get(2), m = mid.get(mid.size() - 1);
            db.deleteFilesInRanges(h, List.of(gone.smallestKey(), gone.largestKey()), true);
            List<String> inputs = new ArrayList<>(List.of(m.fileName()));
            for (LiveFileMetaData l : level(db, h, 6))
                if (Arrays.compareUnsigned(l.largestKey(), m.smallestKey()) >= 0 && Arrays.compareUnsigned(l.smallestKey(), m.largestKey()) <= 0) inputs.add(l.fileName());
            db.compactFiles(new CompactionOptions().setOutputFileSizeLimit(4000), h, inputs, 6, -1, null);
            db.deleteRange(h, w, num(100), num(110));
            for (int i = 104; i < 130; i += 2) db.put(h, w, num(i), ("late" + i).getBytes());
            flush(db, cf);
            db.deleteRange(h, w, num(595), num(9000)); // nothing but a tombstone in its file
            flush(db, cf);
            if (level(db, h, 3).size() != mid.size() - 2) throw new IllegalStateException("files of level 3: " + level(db, h, 3).size());
        });
    }

    static List<LiveFileMetaData> level(RocksDB db, ColumnFamilyHandle h, int level) throws Exception {
        List<LiveFileMetaData> l = new ArrayList<>();
        for (LiveFileMetaData m : db.getLiveFilesMetaData())
            if (m.level() == level && Arrays.equals(m.columnFamilyName(), h.getName())) l.add(m);
        l.sort((a, b) -> Arrays.compareUnsigned(a.smallestKey(), b.smallestKey()));
        return l;
    }

    static void move(RocksDB db, Map<String, ColumnFamilyHandle> cf, ColumnFamilyHandle h, int from, int to, long size) throws Exception {
        flush(db, cf);
        List<String> inputs = new ArrayList<>();
        for (LiveFileMetaData m : level(db, h, from)) inputs.add(m.fileName());
        db.compactFiles(new CompactionOptions().setOutputFileSizeLimit(size), h, inputs, to, -1, null);
    }

    /** Files made outside and ingested over older entries, so that they get a global sequence number. */
    static void ingest(String name, String table, boolean write) throws Exception {
        ColumnFamilyOptions cfo = options(table, "kSnappyCompression");
        database(name, cfo, (db, cf, dir) -> {
            ColumnFamilyHandle h = cf.get("value");
            WriteOptions w = new WriteOptions().setDisableWAL(true);
            Random r = new Random(11);
            for (int i = 0; i < 300; i++) db.put(h, w, num(i), value(r, i));
            flush(db, cf);
            for (int part = 0; part < 2; part++) {
                String file = dir.resolve("part" + part + ".sst").toString();
                try (Options o = new Options(new DBOptions(), cfo); EnvOptions eo = new EnvOptions(); SstFileWriter s = new SstFileWriter(eo, o)) {
                    s.open(file);
                    for (int i = 100 + part * 20; i < 200; i += 2) {
                        if (i % 10 == 0) s.delete(num(i));
                        else s.put(num(i), ("ingested" + part + "-" + i).getBytes());
                    }
                    s.finish();
                }
                try (IngestExternalFileOptions io = new IngestExternalFileOptions().setWriteGlobalSeqno(write)) {
                    db.ingestExternalFile(h, List.of(file), io);
                }
                db.put(h, w, num(150 + part), "between".getBytes());
            }
            flush(db, cf);
        });
    }

    /** What is not read here, and must be said by name. */
    static void refused() throws Exception {
        Work few = (db, cf, dir) -> {
            WriteOptions w = new WriteOptions().setDisableWAL(true);
            for (int i = 0; i < 3; i++) db.put(cf.get("value"), w, num(i), new byte[300]);
            flush(db, cf);
        };
        ColumnFamilyOptions blob = options("format_version=5", "kNoCompression");
        blob.setEnableBlobFiles(true);
        blob.setMinBlobSize(0);
        database("refused/blob", blob, few);
        ColumnFamilyOptions merge = options("format_version=5", "kNoCompression");
        merge.setMergeOperatorName("uint64add");
        database("refused/merge", merge, few);
        ColumnFamilyOptions order = options("format_version=5", "kNoCompression");
        order.setComparator(BuiltinComparator.REVERSE_BYTEWISE_COMPARATOR);
        database("refused/comparator", order, few);
    }

    /** Keys of any length and any bytes, as hashes of filters take another way for each range of lengths. */
    static void lengths(String name, String table) throws Exception {
        database(name, options(table, "kNoCompression"), (db, cf, dir) -> {
            WriteOptions w = new WriteOptions().setDisableWAL(true);
            Random r = new Random(5);
            for (int n = 0; n < 600; n += n < 36 ? 1 : n < 270 ? 4 : 40) {
                byte[] k = new byte[n];
                r.nextBytes(k);
                db.put(cf.get("value"), w, k, new byte[] {(byte) n});
            }
            flush(db, cf);
        });
    }

    /** Plain rows in 4 KiB blocks, for the benchmark. */
    static void bench(String name) throws Exception {
        ColumnFamilyOptions cfo = options("format_version=5;checksum=kXXH3;block_size=4096", "kSnappyCompression");
        cfo.setTargetFileSizeBase(1 << 20);
        database(name, cfo, (db, cf, dir) -> {
            WriteOptions w = new WriteOptions().setDisableWAL(true);
            for (int i = 0; i < 12000; i++) {
                byte[] k = String.format("\0customer-%08d", i).getBytes();
                byte[] v = new byte[80];
                for (int j = 0; j < v.length; j++) v[j] = (byte) (j < 12 ? i * 31 >> j : "name city street"
                    .charAt((j + i) % 16));
                db.put(cf.get("value"), w, k, v);
            }
            flush(db, cf);
            db.compactRange(cf.get("value"));
        });
    }
}
