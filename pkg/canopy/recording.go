package canopy

import (
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
	MaxBytes     int64         // the oldest sessions are removed when all files are longer together; default 4 GiB
	MaxAge       time.Duration // and when they were last written so long ago; default 7 days
	SegmentBytes int64         // length of a file, after which the next one begins; default 64 MiB, at most 256 MiB
	Program      string        // version of the program, which readers show. Empty: not known
}

// recordings are the recordings of a Server. The zero value records nothing.
type recordings struct {
	store     *recording.Store // nil: nothing is recorded
	onFailure func(partition string, err error)
}

// openRecordings opens the directory of Options.Recording, if there is one (REC-1).
func (o *Options) openRecordings() (*recordings, error) {
	r := &recordings{onFailure: func(string, error) {}}
	if o.Recording.Dir == "" {
		return r, nil
	}
	s, err := recording.Open(recording.Options{
		Dir: o.Recording.Dir, Canopy: o.Recording.Program, MaxBytes: o.Recording.MaxBytes, MaxAge: o.Recording.MaxAge,
		SegmentBytes: o.Recording.SegmentBytes,
		OnFailure:    func(partition string, err error) { r.onFailure(partition, err) },
	})
	if err != nil {
		return nil, o.refused("Recording.Dir", err)
	}
	r.store = s
	return r, nil
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
