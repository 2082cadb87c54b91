package engine_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func proposal(t *testing.T, text string) *reload.Proposal {
	t.Helper()
	p, err := reload.Read(reload.File, "", []byte(text), queuesyaml.Options{})
	assert.NilError(t, err)
	return p
}

const (
	resolving = "partitions: [{name: default, usergroupresolver: {type: os}, queues: [{name: root, queues: [{name: a}]}]}]"
	plain     = "partitions: [{name: default, queues: [{name: root, queues: [{name: a}, {name: b}]}]}]"
)

// named is a Directory that is only compared.
type named struct {
	engine.Directory
	number int
}

// directories gives each partition with a resolver a new Directory, or fails.
type directories struct {
	made int
	err  error
}

func (d *directories) of(conf *configs.Config, _ map[string]engine.Directory) (map[string]engine.Directory, error) {
	all := map[string]engine.Directory{}
	for _, p := range conf.Partitions {
		if p.UserGroupResolver != "" {
			d.made++
			all[p.Name] = named{number: d.made}
		}
	}
	return all, d.err
}

// recordingSink records effects after those of the observer.
type recordingSink struct{ to *[]string }

func (s recordingSink) Deliver(effects []scheduler.Effect) {
	for _, e := range effects {
		*s.to = append(*s.to, "delivered "+e.String())
	}
}

// A configuration and its Directories come into force together, or neither does (ACL-36).
func TestReload_DirectoriesComeIntoForceWithTheConfiguration(t *testing.T) {
	users := &directories{}
	e := engine.New(engine.Options{Directories: users.of})
	defer e.End()
	e.Start(proposal(t, plain))
	assert.Assert(t, e.Directory("default") == nil)

	_, err := e.Reloads().Apply(t.Context(), proposal(t, resolving))
	assert.NilError(t, err)
	inForce := e.Directory("default")
	assert.Assert(t, inForce != nil)

	users.err = errors.New("no server")
	_, err = e.Reloads().Apply(t.Context(), proposal(t, resolving+" # again"))
	assert.ErrorIs(t, err, engine.ErrConfig)
	assert.ErrorIs(t, err, reload.ErrRefused)
	assert.ErrorIs(t, e.CheckDirectories(e.Cluster().Config()), engine.ErrConfig)
	users.err = nil
	assert.NilError(t, e.CheckDirectories(e.Cluster().Config()))

	// The partitions do not pause: the former Directory stays.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Reloads().Apply(ended, proposal(t, resolving+" # with another Directory"))
	assert.ErrorIs(t, err, reload.ErrBusy)
	assert.Equal(t, e.Directory("default"), inForce)
	assert.Equal(t, e.Reloads().Current().Number, uint64(2))

	_, err = e.Reloads().Apply(t.Context(), proposal(t, plain))
	assert.NilError(t, err)
	assert.Assert(t, e.Directory("default") == nil)
}

// Observers see effects before they are delivered, and End delivers all of them. It may be repeated.
func TestEngine_EffectsAreObservedThenDelivered(t *testing.T) {
	var all []string
	e := engine.New(engine.Options{OnEffects: func(partition string, effects []scheduler.Effect) {
		for _, e := range effects {
			all = append(all, "observed "+partition+" "+e.String())
		}
	}})
	e.Connect(func(string) loop.Sink { return recordingSink{&all} })
	e.Start(proposal(t, plain))
	l, _ := e.Cluster().Partition("default")
	l.Send(scheduler.AddNode{Node: "n"})
	e.End()
	e.End()
	assert.DeepEqual(t, all, []string{"observed default accepted node n", "delivered accepted node n"})
	_, err := e.Reloads().Apply(t.Context(), proposal(t, resolving))
	assert.ErrorIs(t, err, loop.ErrEnded)
}

// An Engine that no API is connected with discards effects.
func TestEngine_WithoutASinkRuns(t *testing.T) {
	e := engine.New(engine.Options{})
	defer e.End()
	e.Start(nil)
	l, _ := e.Cluster().Partition("default")
	_, err := l.Call(t.Context(), scheduler.AddNode{Node: "n"})
	assert.NilError(t, err)
	assert.Equal(t, e.Reloads().Current().Source, reload.Embedded)
}
