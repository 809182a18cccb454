package statebridge.kinds;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.source.DataStreamScanProvider;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.LookupTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.lookup.AsyncLookupFunctionProvider;
import org.apache.flink.table.connector.source.lookup.LookupFunctionProvider;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.functions.AsyncLookupFunction;
import org.apache.flink.table.functions.LookupFunction;

/** A table of names by number: number 2 has none, and when asked asynchronously for 3 it never answers. Scanned, it has the rows of a feed. */
public final class Dimension implements DynamicTableSourceFactory {
    private static final ConfigOption<String> HOW = ConfigOptions.key("how").stringType().defaultValue("sync");
    private static final ConfigOption<String> FEED = ConfigOptions.key("feed").stringType().noDefaultValue();

    @Override
    public String factoryIdentifier() {
        return "dim";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of(HOW, FEED);
    }

    @Override
    public DynamicTableSource createDynamicTableSource(Context context) {
        var options = context.getCatalogTable().getOptions();
        return new Names(options.getOrDefault("how", "sync"), options.get("feed"));
    }

    private record Names(String how, String feed) implements LookupTableSource, ScanTableSource {
        @Override
        public LookupRuntimeProvider getLookupRuntimeProvider(LookupContext context) {
            return how.equals("async") ? AsyncLookupFunctionProvider.of(new Later()) : LookupFunctionProvider.of(new Now());
        }

        @Override
        public ChangelogMode getChangelogMode() {
            return ChangelogMode.insertOnly();
        }

        @Override
        public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
            return new Scan(feed);
        }

        @Override
        public DynamicTableSource copy() {
            return this;
        }

        @Override
        public String asSummaryString() {
            return "names";
        }
    }

    private record Scan(String feed) implements DataStreamScanProvider {
        @Override
        public DataStream<RowData> produceDataStream(ProviderContext provider, StreamExecutionEnvironment env) {
            String name = feed;
            return env.addSource(new FeedSource(name), name, org.apache.flink.api.common.typeinfo.Types.LONG).setParallelism(1).uid("source-" + name).map(i -> {
                Feed.of(name).handled.incrementAndGet();
                return (RowData) row(i);
            }, org.apache.flink.table.runtime.typeutils.InternalTypeInfo.of(org.apache.flink.table.types.logical.RowType.of(
                    new org.apache.flink.table.types.logical.BigIntType(false), new org.apache.flink.table.types.logical.VarCharType(Integer.MAX_VALUE)))).setParallelism(1).uid("rows-" + name);
        }

        @Override
        public boolean isBounded() {
            return false;
        }
    }

    private static GenericRowData row(long id) {
        return GenericRowData.of(id, StringData.fromString("name " + id));
    }

    private static Collection<RowData> find(RowData key) {
        return key.getLong(0) == 2 ? List.of() : List.of(row(key.getLong(0)));
    }

    /** Answers at once. */
    public static final class Now extends LookupFunction {
        @Override
        public Collection<RowData> lookup(RowData key) {
            return find(key);
        }
    }

    /** Answers later. */
    public static final class Later extends AsyncLookupFunction {
        @Override
        public CompletableFuture<Collection<RowData>> asyncLookup(RowData key) {
            return key.getLong(0) == 3 ? new CompletableFuture<>() : CompletableFuture.supplyAsync(() -> find(key));
        }
    }
}
