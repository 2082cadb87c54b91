package canopy

import (
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Recording says where all that the scheduler decides upon is recorded, so that its decisions can be made again
// (docs/RECORDING.md). It never delays a decision: what a disk does not take in time is missing, and the recording says
// so.
type Recording struct {
	// it is created if it does not exist; several Servers may use it one after the other. Empty: nothing is recorded
	Dir          string
	MaxBytes     int64         // the oldest files are removed when all are longer together; default 4 GiB
	MaxAge       time.Duration // and when they were last written so long ago; default 7 days
	SegmentBytes int64         // length of a file, after which the next one begins; default 64 MiB, at most 256 MiB
	// CheckpointEvery is after how much time the state of a partition is recorded, so that a replay can begin there; 0:
	// never. Decisions of the partition wait for it, 1 to 2 s for 100,000 allocations.
	CheckpointEvery time.Duration
	Program         string // version of the program, which readers show. Empty: not known
}

// recordings are the recordings of a Server. The zero value records nothing.
type recordings struct {
	store *recording.Store // nil: nothing is recorded

	mu        sync.Mutex
	lost      map[string]uint64 // steps that were not recorded, by partition
	onFailure func(partition string, lost uint64, err error)

	onCheckpoint func(partition string, bytes int, took time.Duration, err error)
}

// openRecordings opens the directory of Options.Recording, if there is one (REC-1).
func (o *Options) openRecordings() (*recordings, error) {
	r := &recordings{lost: map[string]uint64{}, onFailure: func(string, uint64, error) {},
		onCheckpoint: func(string, int, time.Duration, error) {}}
	if o.Recording.Dir == "" {
		return r, nil
	}
	s, err := recording.Open(recording.Options{
		Dir: o.Recording.Dir, Canopy: o.Recording.Program, MaxBytes: o.Recording.MaxBytes, MaxAge: o.Recording.MaxAge,
		SegmentBytes: o.Recording.SegmentBytes, OnFailure: r.failed,
		CheckpointEvery: o.Recording.CheckpointEvery,
		OnCheckpoint: func(partition string, bytes int, took time.Duration, err error) {
			r.onCheckpoint(partition, bytes, took, err)
		},
	})
	if err != nil {
		return nil, o.refused("Recording.Dir", err)
	}
	r.store = s
	return r, nil
}

// failed counts what was not recorded, and logs it.
func (r *recordings) failed(partition string, lost uint64, err error) {
	r.mu.Lock()
	r.lost[partition] += lost
	r.mu.Unlock()
	r.onFailure(partition, lost, err)
}

// lostSteps is how many steps of a partition were not recorded.
func (r *recordings) lostSteps(partition string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost[partition]
}

// recorder is loop.Options.Recorder; nil: nothing is recorded.
func (r *recordings) recorder() func(partition string, core *scheduler.Core, opt objects.Options) loop.Recorder {
	if r.store == nil {
		return nil
	}
	return func(partition string, core *scheduler.Core, opt objects.Options) loop.Recorder {
		return r.store.Recorder(partition, core, opt)
	}
}
