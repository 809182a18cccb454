package statebridge.kinds;

import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;

/** The source function of Flink 2.3, which each line keeps in a package of its own. */
abstract class Source<T> extends RichParallelSourceFunction<T> {}
