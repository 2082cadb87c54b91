package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
	DefaultMaxBytes     = 4 << 30
	DefaultMaxAge       = 7 * 24 * time.Hour
	DefaultBuffer       = 32 << 20
	DefaultFlushEvery   = time.Second
)

var (
	// ErrEnded says that a session is not recorded any more. The next ResetPartition begins another one.
	ErrEnded = errors.New("the session is not recorded any more")
	// ErrTooLong says that the sessions that are being written are longer than Options.MaxBytes.
	ErrTooLong = errors.New("the sessions that are being written are too long together")
)

// Options say where and how recordings are written. A number or duration that is zero means its default.
type Options struct {
	Dir    string // it has a directory for each partition
	Canopy string // version of Canopy, for readers of the recording

	SegmentBytes int64         // a segment that is as long is followed by the next one; at most MaxSegmentBytes
	MaxBytes     int64         // the oldest sessions of the directory are removed when all are longer together
	MaxAge       time.Duration // and when they were last written so long ago
	Buffer       int           // bytes of records of one partition that may wait for the disk; the session ends then
	FlushEvery   time.Duration // how long records wait to be written together

	Now   func() time.Time                     // nil: time.Now
	After func(time.Duration) <-chan time.Time // nil: time.After

	// Create creates a file that must not exist; nil: of the operating system.
	Create func(path string) (File, error)

	// OnFailure is called when a session has ended early (ErrEnded), and when files could not be completed or removed. It
	// is called by several goroutines. nil: not called.
	OnFailure func(partition string, err error)
}

// File is a segment that is written.
type File interface {
	Write(b []byte) (int, error)
	Sync() error
	Close() error
}

// Store has the recordings of all partitions. It is safe for concurrent use.
type Store struct {
	opt  Options
	lock *os.File // nil: closed, or files have no locks here

	mu     sync.Mutex // guards the fields below, and that one goroutine removes sessions
	active map[sessionKey]bool

	stateMu sync.Mutex        // guards the fields below; it is not held while a disk is asked
	lost    map[string]uint64 // steps that were not recorded, by partition
	ended   map[string]error  // why a partition is not recorded any more
}

// Open creates the directory of a Store, which the caller must close after its Recorders. The error names it. A
// directory has one Store at a time, since each removes old sessions.
func Open(opt Options) (*Store, error) {
	opt.MaxBytes, opt.MaxAge = cmp.Or(opt.MaxBytes, DefaultMaxBytes), cmp.Or(opt.MaxAge, DefaultMaxAge)
	opt.SegmentBytes = min(cmp.Or(opt.SegmentBytes, DefaultSegmentBytes), opt.MaxBytes)
	opt.Buffer, opt.FlushEvery = cmp.Or(opt.Buffer, DefaultBuffer), cmp.Or(opt.FlushEvery, DefaultFlushEvery)
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
		opt.OnFailure = func(string, error) {}
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
	return &Store{opt: opt, lock: locked, active: map[sessionKey]bool{}, lost: map[string]uint64{},
		ended: map[string]error{}}, nil
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
		core: core, opt: opt, canopy: s.opt.Canopy, buffer: s.opt.Buffer, partition: partition, store: s, last: epoch,
		now: s.opt.Now, after: s.opt.After,
		wake: make(chan struct{}, 1), written: make(chan struct{}),
	}
	s.state(partition, 0, nil)
	go s.writer(partition, r).run()
	return r
}

func (s *Store) writer(partition string, r *Recorder) *writer {
	return &writer{store: s, partition: partition, recorder: r, zstd: newCompressor()}
}

// LostSteps returns how many steps of a partition were not recorded.
func (s *Store) LostSteps(partition string) uint64 {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return s.lost[partition]
}

// Ended returns why the session of a partition is not recorded any more; nil: it is.
func (s *Store) Ended(partition string) error {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return s.ended[partition]
}

// state counts lost steps, and says why a partition is not recorded any more; nil: it is.
func (s *Store) state(partition string, lost uint64, ended error) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.lost[partition] += lost
	s.ended[partition] = ended
}

// create creates a segment of a session that is being written.
func (s *Store) create(session sessionKey, index int) (File, string, error) {
	path := filepath.Join(s.opt.Dir, directoryOf(session.partition), segmentName(session.began, index))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, path, err
	}
	file, err := s.opt.Create(path)
	if err == nil {
		s.mu.Lock()
		s.active[session] = true
		s.mu.Unlock()
	}
	return file, path, err
}

// release says that a session is not written any more.
func (s *Store) release(session sessionKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, session)
}

// directoryOf returns the name of the directory of a partition.
func directoryOf(partition string) string {
	name := url.PathEscape(partition)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return name
}

// retain removes the oldest sessions while there are too many bytes, and those that are too old (REC-8). Sessions that
// are being written stay. It returns how many bytes are left.
func (s *Store) retain() (total int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sessions, err := listSessions(s.opt.Dir)
	for _, x := range sessions {
		total += x.Bytes
	}
	slices.SortStableFunc(sessions, func(a, b Session) int { return a.written.Compare(b.written) })
	oldest := s.opt.Now().Add(-s.opt.MaxAge)
	for _, x := range sessions {
		if s.active[x.key()] || total <= s.opt.MaxBytes && !x.written.Before(oldest) {
			continue
		}
		for _, segment := range slices.Backward(x.segments) { // what is left after a failure begins with the begin
			if removed := os.Remove(segment.path); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
				err = errors.Join(err, removed)
				break
			}
			total -= segment.bytes
		}
	}
	return total, err
}
