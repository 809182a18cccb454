package redis

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// clientLog takes what go-redis says of its connections. Left alone it writes lines of a form of its own to standard error, among the
// program's. Whatever matters comes back as an error as well, so this is for debugging only.
type clientLog struct{ log *slog.Logger }

// Printf is what go-redis calls.
func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "redis client: "+fmt.Sprintf(format, args...))
	}
}

// redirect gives go-redis its one logger; nil drops what it says.
func redirect(log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	redis.SetLogger(clientLog{log})
}
