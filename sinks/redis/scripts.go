package redis

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed begin.lua
	beginSource string
	//go:embed rows.lua
	rowsSource string
	//go:embed commit.lua
	commitSource string
	//go:embed copy.lua
	copySource string
	//go:embed behind.lua
	behindSource string

	rowsScript   = redis.NewScript(rowsSource)
	copyScript   = redis.NewScript(copySource)
	behindScript = redis.NewScript(behindSource)
	beginScript  = newMarkScript(beginSource)
	commitScript = newMarkScript(commitSource)
)

// markScript changes the position. It must get through on a server without memory as well, lest no delete is ever made there; Redis 7 lets a
// script say so, an older one does not know the words.
type markScript struct{ plain, allowed *redis.Script }

func newMarkScript(source string) markScript {
	return markScript{plain: redis.NewScript(source), allowed: redis.NewScript("#!lua flags=allow-oom\n" + source)}
}

func (s markScript) run(ctx context.Context, client redis.UniversalClient, key string, args ...any) error {
	err := s.plain.Run(ctx, client, []string{key}, args...).Err()
	if redis.HasErrorPrefix(err, "OOM") && s.allowed.Run(ctx, client, []string{key}, args...).Err() == nil {
		return nil
	}
	return err
}
