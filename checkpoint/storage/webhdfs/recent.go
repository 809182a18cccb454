package webhdfs

import (
	"sync"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage/remote"
)

// recent keeps what was last said of files for their first read, which would ask the same again. Between that question and the reading lies some time
// in any case; which version later reads get is asked with each.
type recent struct {
	mu    sync.Mutex
	files map[remote.Place]said
}

type said struct {
	remote.Object
	at time.Time
}

const (
	recentFor  = time.Second
	recentMost = 1024
)

func (r *recent) keep(p remote.Place, o remote.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil || len(r.files) >= recentMost {
		r.files = map[remote.Place]said{}
	}
	r.files[p] = said{o, time.Now()}
}

// take gives it once.
func (r *recent) take(p remote.Place) (o remote.Object, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.files[p]
	delete(r.files, p)
	return s.Object, ok && time.Since(s.at) < recentFor
}
