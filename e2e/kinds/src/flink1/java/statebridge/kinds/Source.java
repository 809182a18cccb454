package statebridge.kinds;

import org.apache.flink.streaming.api.functions.source.RichParallelSourceFunction;

/** The source function of Flink 1.20, which each line keeps in a package of its own. */
abstract class Source<T> extends RichParallelSourceFunction<T> {}
