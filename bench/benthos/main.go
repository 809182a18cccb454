// Command benthos is the peer of the sinks: Benthos with the components that its two configurations beside this file need.
//
// It is a module of its own, so that what Benthos needs is no dependency of Statebridge.
package main

import (
	"context"

	"github.com/benthosdev/benthos/v4/public/service"

	_ "github.com/benthosdev/benthos/v4/public/components/io"
	_ "github.com/benthosdev/benthos/v4/public/components/nats"
	_ "github.com/benthosdev/benthos/v4/public/components/pure"
	_ "github.com/benthosdev/benthos/v4/public/components/redis"
	_ "github.com/benthosdev/benthos/v4/public/components/sql"
)

func main() { service.RunCLI(context.Background()) }
