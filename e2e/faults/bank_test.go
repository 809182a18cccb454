package faults

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/statebridge/statebridge/e2e"
)

var (
	seed   = flag.Uint64("seed", 1, "of the faults; 0: a new one")
	least  = flag.Int("faults", perRound, "`how many` there are at least")
	lasts  = flag.Duration("for", 0, "`how long` there are faults at least")
	logDir = flag.String("logs", "", "`folder` that the logs of the bridges are kept in")
)

func TestMain(m *testing.M) {
	ServeNATS()
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // what runs side by side waits, most of the time
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	logging.Disable() // of the client that reads Redis here: a server that is down is no news
	code := e2e.Main(m)
	if s := Summary(); s != "" {
		fmt.Println(s)
	}
	os.Exit(code)
}

// A job moves money between accounts while everything around the bridges fails at random. No reader of Postgres ever sees a sum that is not the
// constant, nor a table that no checkpoint held, and after each round of faults all targets equal the checkpoint of a job that holds still.
func TestBank(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("repeat with -seed %d", *seed)
	bank := Open(t)
	defer bank.saveLogs(*logDir)
	bank.Check()
	for round := uint64(0); bank.count() < *least || time.Since(bank.began) < *lasts; round++ {
		bank.Run(Round(*seed, round))
		bank.Check()
	}
	bank.Close()
}
