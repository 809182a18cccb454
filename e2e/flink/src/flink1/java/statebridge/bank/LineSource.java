package statebridge.bank;

import org.apache.flink.streaming.api.functions.source.RichSourceFunction;

/** The source function of Flink 1.20, which each line keeps in a package of its own. */
abstract class LineSource<T> extends RichSourceFunction<T> {}
