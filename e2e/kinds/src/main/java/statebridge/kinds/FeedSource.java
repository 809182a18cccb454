package statebridge.kinds;

import org.apache.flink.streaming.api.watermark.Watermark;

/** Emits what its feed holds. It starts anew after a restore: the feed then has what is to come. */
final class FeedSource extends Source<Long> {
    private final String name;
    private volatile boolean running = true;

    FeedSource(String name) {
        this.name = name;
    }

    @Override
    public void run(SourceContext<Long> context) throws Exception {
        Feed feed = Feed.of(name);
        int me = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        int all = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
        for (int at = 0; running;) {
            if (at == feed.size()) {
                if (me < feed.ended) {
                    return;
                }
                Thread.sleep(5);
                continue;
            }
            synchronized (context.getCheckpointLock()) {
                long item = feed.at(at++);
                if (item < 0) {
                    context.emitWatermark(new Watermark(-item));
                    if (me == 0) {
                        feed.handled.incrementAndGet();
                    }
                } else if (item % all == me) {
                    context.collect(item);
                }
            }
        }
    }

    @Override
    public void cancel() {
        running = false;
    }
}
