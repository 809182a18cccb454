package redis

import (
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

	beginScript  = redis.NewScript(beginSource)
	rowsScript   = redis.NewScript(rowsSource)
	commitScript = redis.NewScript(commitSource)
)
