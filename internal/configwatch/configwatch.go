// Package configwatch reads a file again whenever its content may have changed, and hands
// on each new content once. What the content means is for others.
//
// Not the file is watched but its directory, because what looks like an edit is mostly
// another file under the same name: editors rename, and a ConfigMap swaps a symbolic link
// two levels up. If the name leads to another directory, that one is watched as well. And
// because not every file system tells, and a directory may be replaced too, the file is
// read from time to time in any case.
//
// The rule that must hold: a content is handed on only when it has been the same for a
// quiet time. A file that is missing, or that somebody is still writing, is nothing new.
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

// ErrNotRegular says that what a name leads to is not a regular file, but a pipe or a device.
var ErrNotRegular = errors.New("is not a regular file")

// Options say how a file is watched. The zero value is good.
type Options struct {
	QuietPeriod time.Duration // how long a content must have been the same; 0: 250 ms
	Poll        time.Duration // how often the file is read in any case; 0: 10 s
	MaxBytes    int           // how much of the file is read, to see that it is too long; 0: 8 MiB
	Log         *zap.Logger   // nil: nothing is logged
}

// Watch hands on every new content of a file until ctx ends. known is what the caller has
// read already. changed reports whether it could deal with a content; one that it could not
// deal with is handed on again later. When the operating system cannot tell of changes,
// that is logged, and the file is only read from time to time.
func Watch(ctx context.Context, file string, known []byte, opt Options, changed func(content []byte) bool) {
	w := newFileWatch(file, known, opt, changed)
	dirs, err := newDirWatcher(file)
	if err != nil {
		w.opt.Log.Warn("the file of the configuration is not watched, but read from time to time",
			zap.String("file", file), zap.Duration("every", w.opt.Poll), zap.Error(err))
		w.run(ctx, nil, func() {})
		return
	}
	defer dirs.close()
	w.run(ctx, dirs.events, dirs.updateWatches)
}

// fileWatch is what is known of a file.
type fileWatch struct {
	file     string
	opt      Options
	read     func() ([]byte, error)
	onChange func([]byte) bool

	delivered  digest // was handed on
	lastRead   digest // was read last
	unreadable bool
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

// run looks at the file when it has been quiet after a stir, and at every poll. follow is
// called before each look: the way to the file may have changed.
func (w *fileWatch) run(ctx context.Context, events <-chan struct{}, updateWatches func()) {
	poll := time.NewTicker(w.opt.Poll)
	defer poll.Stop()
	quietTimer := time.NewTimer(0) // something may have changed since the caller read it
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

// checkFile reads the file. again: it is to be read once more after a quiet time.
func (w *fileWatch) checkFile() (reread bool) {
	content, err := w.read()
	if err != nil {
		if !w.unreadable {
			w.opt.Log.Warn("the file of the configuration cannot be read: what is in force stays",
				zap.String("file", w.file), zap.Error(err))
		}
		w.unreadable = true
		return false
	}
	if w.unreadable {
		w.unreadable = false
		w.opt.Log.Info("the file of the configuration can be read again", zap.String("file", w.file))
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

// Read reads no more of a file than one byte past most, if that can be counted. What is no
// regular file is an error; it does not wait until somebody writes to a pipe.
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
