package render

import (
	"os"
	"sync/atomic"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Progress is a bar on a terminal and nothing elsewhere. Its methods may be called from several goroutines, and of a nil Progress too.
type Progress struct {
	bars  *mpb.Progress // nil where nothing is drawn
	bar   *mpb.Bar
	step  int64 // between two updates of the bar, which are costly beside Add
	done  atomic.Int64
	shown atomic.Int64
}

// NewProgress starts a bar on w, which is stderr as a rule; total may be an estimate, 0 or below stands for unknown.
func NewProgress(w *os.File, label string, total int64) *Progress {
	p := &Progress{step: max(total/1000, 1)}
	if w == nil || !isatty.IsTerminal(w.Fd()) && !isatty.IsCygwinTerminal(w.Fd()) {
		return p
	}
	style, counter := mpb.BarFillerBuilder(mpb.BarStyle()), decor.CountersNoUnit(" %d / %d")
	if total <= 0 {
		style, counter, p.step = mpb.NopStyle(), decor.CurrentNoUnit("%d"), 1000
	}
	p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
	p.bar = p.bars.New(0, style, mpb.PrependDecorators(decor.Name(label+" ")), mpb.AppendDecorators(counter))
	p.bar.SetTotal(total, false) // not given to New: total may be an estimate, and the bar must not end when it is reached
	return p
}

// Add says that n more are done.
func (p *Progress) Add(n int64) {
	if p == nil || p.bar == nil {
		return
	}
	done := p.done.Add(n)
	if shown := p.shown.Load(); done-shown >= p.step && p.shown.CompareAndSwap(shown, done) {
		p.bar.IncrInt64(done - shown)
	}
}

// Done removes the bar and waits until it is gone, so that what is printed next stands on a line of its own.
func (p *Progress) Done() {
	if p == nil || p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}
