// Package configwatch watches a file and delivers each new content once (CFG-90). It does not
// interpret the content.
//
// The directory of the file is watched and not the file itself, because an edit usually
// replaces the file by another one of the same name: editors rename, and a ConfigMap mount
// swaps a symbolic link two levels up. The directory that a symbolic link leads to is watched
// too. Some file systems have no events, and a directory may be replaced, so the file is also
// polled.
//
// Invariant: a content is delivered only if it did not change for the quiet period. A file
// that is missing, or is still being written, is no change.
package configwatch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// ErrNotRegular is the error of Read for a pipe or a device (CFG-93).
var ErrNotRegular = errors.New("is not a regular file")

// Options configure a Watch. The zero value has the defaults.
type Options struct {
	QuietPeriod time.Duration // how long a content must be unchanged before delivery; 0: 250 ms
	Poll        time.Duration // interval at which the file is read in any case; 0: 10 s
	MaxBytes    int           // bound on the length; of a longer file one byte more is read; 0: 8 MiB
	Log         *zap.Logger   // nil: nothing is logged
}

// Watch calls changed with every new content of a file until ctx ends. known is the content
// that the caller has read already. changed reports whether it handled the content; a content
// that was not handled is delivered again later (CFG-91). If the operating system has no
// events, that is logged, and the file is only polled.
func Watch(ctx context.Context, file string, known []byte, opt Options, changed func(content []byte) bool) {
	w := newFileWatch(file, known, opt, changed)
	dirs, err := newDirWatcher(file)
	if err != nil {
		w.opt.Log.Warn("a file is not watched but polled",
			zap.String("file", file), zap.Duration("every", w.opt.Poll), zap.Error(err))
		w.run(ctx, nil, func() {})
		return
	}
	defer dirs.close()
	w.run(ctx, dirs.events, dirs.updateWatches)
}

// fileWatch is the state of a Watch.
type fileWatch struct {
	file     string
	opt      Options
	read     func() ([]byte, error)
	onChange func([]byte) bool

	delivered  digest // of the content that was handled last
	lastRead   digest // of the content that was read last
	unreadable bool   // the last read failed
}

type digest [sha256.Size]byte

func newFileWatch(file string, known []byte, opt Options, changed func([]byte) bool) *fileWatch {
	if opt.QuietPeriod <= 0 {
		opt.QuietPeriod = 250 * time.Millisecond
	}
	if opt.Poll <= 0 {
		opt.Poll = 10 * time.Second
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = 8 << 20
	}
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	w := &fileWatch{file: file, opt: opt, onChange: changed, delivered: sha256.Sum256(known)}
	w.lastRead = w.delivered
	w.read = func() ([]byte, error) { return Read(file, opt.MaxBytes) }
	return w
}

// run checks the file a quiet period after an event, and at every poll. It calls updateWatches
// before each check, because symbolic links to the file may have changed.
func (w *fileWatch) run(ctx context.Context, events <-chan struct{}, updateWatches func()) {
	poll := time.NewTicker(w.opt.Poll)
	defer poll.Stop()
	quietTimer := time.NewTimer(0) // the file may have changed since the caller read it
	defer quietTimer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
			quietTimer.Reset(w.opt.QuietPeriod)
			continue
		case <-poll.C:
		case <-quietTimer.C:
		}
		updateWatches()
		if w.checkFile() {
			quietTimer.Reset(w.opt.QuietPeriod)
		}
	}
}

// checkFile reads the file, and delivers a new content that is the same as at the last read.
// reread: the content changed since then, so it must be read again after the quiet period.
func (w *fileWatch) checkFile() (reread bool) {
	content, err := w.read()
	if err != nil {
		if !w.unreadable {
			w.opt.Log.Warn("a watched file cannot be read: what was in force stays",
				zap.String("file", w.file), zap.Error(err))
		}
		w.unreadable = true
		return false
	}
	if w.unreadable {
		w.unreadable = false
		w.opt.Log.Info("a watched file can be read again", zap.String("file", w.file))
	}
	now := digest(sha256.Sum256(content))
	switch {
	case now == w.delivered:
		w.lastRead = now
		return false
	case now != w.lastRead:
		w.lastRead = now
		return true
	}
	if w.onChange(content) {
		w.delivered = now
	}
	return false
}

// Read reads at most one byte more than most from a file. A directory, a pipe or a device is an
// error (CFG-93); Read does not wait for a writer of a pipe.
func Read(name string, most int) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s %w", name, ErrNotRegular)
	}
	return io.ReadAll(io.LimitReader(f, int64(min(most, math.MaxInt-1))+1))
}
