package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Defaults of Options.
const (
	DefaultSegmentBytes = 64 << 20
	MaxSegmentBytes     = 256 << 20 // the greatest Options.SegmentBytes
	DefaultSegmentAge   = time.Hour
	DefaultMaxBytes     = 4 << 30
	DefaultMaxAge       = 7 * 24 * time.Hour
	DefaultBuffer       = 32 << 20
	DefaultFlushEvery   = time.Second
	DefaultRetryEvery   = 5 * time.Second
)

// closeTimeout is how long Recorder.Close waits for a disk.
const closeTimeout = 2 * time.Second

// Options say where and how recordings are written. A number or duration that is zero means its default.
type Options struct {
	Dir    string // it has a directory for each partition
	Canopy string // version of Canopy, for readers of the recording

	SegmentBytes int64         // a segment that is as long is followed by the next one; at most MaxSegmentBytes
	SegmentAge   time.Duration // and one that was begun so long ago
	MaxBytes     int64         // the oldest segments of the directory are removed when all of them are longer together
	MaxAge       time.Duration // and when they were last written so long ago
	Buffer       int           // bytes of records of one partition that may wait for the disk; further steps are dropped
	FlushEvery   time.Duration // how long records wait to be written together
	RetryEvery   time.Duration // how long nothing is written after a failure

	// CheckpointEvery is after how much time of its steps the state of a Core is recorded, with which a replay can begin;
	// 0: never.
	CheckpointEvery time.Duration

	Now   func() time.Time                     // nil: time.Now
	After func(time.Duration) <-chan time.Time // nil: time.After

	// Create creates a file that must not exist; nil: of the operating system.
	Create func(path string) (File, error)

	// OnFailure is called when a partition has failed to write, and with nil when it writes again. lost are the steps that
	// were lost since the call before. It is called by several goroutines. nil: not called.
	OnFailure func(partition string, lost uint64, err error)

	// OnCheckpoint is called by the goroutine that owns the Core when its state was recorded: how many bytes, and how long
	// the Core waited for it. With an error there are no more of that partition. nil: not called.
	OnCheckpoint func(partition string, bytes int, took time.Duration, err error)
}

// File is a segment that is written.
type File interface {
	Write(b []byte) (int, error)
	Sync() error
	Close() error
}

// ErrBufferFull is why steps are lost when the disk is too slow.
var ErrBufferFull = errors.New("the disk is slower than the scheduler, and the buffer was full")

// Store has the recordings of all partitions. It is safe for concurrent use.
type Store struct {
	opt  Options
	lock *os.File // nil: closed, or files have no locks here

	mu     sync.Mutex      // guards the fields below, and that one goroutine removes segments
	active map[string]bool // segments that are being written
}

// Open creates the directory of a Store, which the caller must close after its Recorders. The error names it. A
// directory has one Store at a time, since each removes old segments.
func Open(opt Options) (*Store, error) {
	opt.SegmentBytes, opt.SegmentAge = cmp.Or(opt.SegmentBytes, DefaultSegmentBytes),
		cmp.Or(opt.SegmentAge, DefaultSegmentAge)
	opt.MaxBytes, opt.MaxAge = cmp.Or(opt.MaxBytes, DefaultMaxBytes), cmp.Or(opt.MaxAge, DefaultMaxAge)
	opt.Buffer, opt.FlushEvery = cmp.Or(opt.Buffer, DefaultBuffer), cmp.Or(opt.FlushEvery, DefaultFlushEvery)
	opt.RetryEvery = cmp.Or(opt.RetryEvery, DefaultRetryEvery)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.After == nil {
		opt.After = time.After
	}
	if opt.Create == nil {
		opt.Create = func(path string) (File, error) { return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) }
	}
	if opt.OnFailure == nil {
		opt.OnFailure = func(string, uint64, error) {}
	}
	if opt.OnCheckpoint == nil {
		opt.OnCheckpoint = func(string, int, time.Duration, error) {}
	}
	if opt.SegmentBytes > MaxSegmentBytes {
		return nil,
			fmt.Errorf("recording: a segment of %d bytes is too long: at most %d", opt.SegmentBytes, int64(MaxSegmentBytes))
	}
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	locked, err := lock(opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return &Store{opt: opt, lock: locked, active: map[string]bool{}}, nil
}

// Close lets another Store use the directory.
func (s *Store) Close() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// Recorder returns the Recorder of a partition, which the caller must close. opt are the options that core was made
// with.
func (s *Store) Recorder(partition string, core *scheduler.Core, opt objects.Options) *Recorder {
	r := &Recorder{
		core: core, opt: opt, buffer: s.opt.Buffer, last: epoch, after: s.opt.After,
		wake: make(chan struct{}, 1), written: make(chan struct{}),
		checkpoints: checkpoints{
			every: s.opt.CheckpointEvery, clock: s.opt.Now, encode: EncodeState, piece: pieceBytes,
			report: func(bytes int, took time.Duration, err error) { s.opt.OnCheckpoint(partition, bytes, took, err) },
		},
	}
	w := &writer{store: s, partition: partition, dir: filepath.Join(s.opt.Dir, directoryOf(partition)), recorder: r,
		zstd: newCompressor()}
	go w.run()
	return r
}

// create creates a segment that is being written.
func (s *Store) create(path string) (File, error) {
	file, err := s.opt.Create(path)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active[path] = true
	return file, nil
}

// ended says that a segment is not written any more.
func (s *Store) ended(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, path)
}

// directoryOf is the name of the directory of a partition.
func directoryOf(partition string) string {
	name := url.PathEscape(partition)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return name
}

// retain removes the oldest segments while there are too many bytes, and those that are too old. Segments that are
// being written stay.
func (s *Store) retain() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	segments, err := listSegments(s.opt.Dir)
	total := int64(0)
	for _, x := range segments {
		total += x.bytes
	}
	oldest := s.opt.Now().Add(-s.opt.MaxAge)
	for _, x := range segments { // oldest first
		if s.active[x.path] || total <= s.opt.MaxBytes && !x.written.Before(oldest) {
			continue
		}
		if removed := os.Remove(x.path); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
			continue
		}
		total -= x.bytes
	}
	return err
}
