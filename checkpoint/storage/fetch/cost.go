package fetch

import "time"

// Cost says what reading takes.
type Cost struct {
	Latency time.Duration // of a request before its first byte comes
	Rate    float64       // bytes a second, over all lanes
	Lanes   int           // requests under way at once
}

// Time is what it takes to read so many bytes by so many requests: none of which waits for what another brings.
func (c Cost) Time(bytes, requests int64) time.Duration {
	turns := (requests + int64(c.Lanes) - 1) / int64(max(c.Lanes, 1))
	return time.Duration(float64(bytes)/c.Rate*float64(time.Second)) + time.Duration(turns)*c.Latency
}

// Request is how many bytes come in the time that a request takes off all lanes.
func (c Cost) Request() int64 { return c.Turn() / int64(max(c.Lanes, 1)) }

// Turn is how many bytes come in the time that a request waits: as many may be read early, needed or not, to save a turn.
func (c Cost) Turn() int64 { return int64(c.Rate * c.Latency.Seconds()) }
