package statebridge.bank;

import org.apache.flink.streaming.api.functions.source.legacy.RichSourceFunction;

/** The source function of Flink 2.x, which each line keeps in a package of its own. */
abstract class LineSource<T> extends RichSourceFunction<T> {}
