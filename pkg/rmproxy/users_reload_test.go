package rmproxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// partitionsConfig is a configuration of n partitions whose users are resolved.
func partitionsConfig(n int) string {
	var b strings.Builder
	b.WriteString("partitions:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: p%d, usergroupresolver: {type: os}, queues: [{name: root, submitacl: '*'}]}\n", i)
	}
	return b.String()
}

// newFixedDirectories gives every partition with a resolver a Directory, and each configuration
// new ones.
func newFixedDirectories(conf *configs.Config, _ map[string]engine.Directory) (map[string]engine.Directory, error) {
	all := map[string]engine.Directory{}
	for _, p := range conf.Partitions {
		if p.UserGroupResolver != "" {
			all[p.Name] = &fixedDirectory{groups: []string{"of", p.Name}}
		}
	}
	return all, nil
}

// A partition is never found before its Directory.
func TestDirectories_ExistBeforeTheirPartition(t *testing.T) {
	p := newTestProxy(testOptions{Directories: newFixedDirectories})
	defer p.stop()
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm", Config: partitionsConfig(1)}, open))
	early := make(chan bool)
	go func() {
		for { // as the API does for an application of p1
			if _, ok := p.cluster.Partition("p1"); ok {
				early <- p.engine.Directory("p1") == nil
				return
			}
		}
	}()
	// Many partitions are created after p1, so p1 exists for a while before the reload ends.
	assert.NilError(t, p.updateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: partitionsConfig(300)}))
	assert.Assert(t, !<-early, "the partition was found without a Directory")
}

func TestDirectories_AreKeptWhenAConfigurationIsRejected(t *testing.T) {
	p := newTestProxy(testOptions{Directories: newFixedDirectories})
	defer p.stop()
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm", Config: configWithResolver}, open))
	before := p.engine.Directory("default")
	s := p.current()
	app := fakerm.App("app", "root.a")
	assert.NilError(t, s.handle(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
	conflicting := strings.Replace(configWithResolver, "{name: a}", "{name: a, queues: [{name: below}]}", 1)
	err := p.updateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: conflicting})
	assert.ErrorContains(t, err, "it holds application app")
	assert.Assert(t, p.engine.Directory("default") == before)
	assert.NilError(t,
		p.updateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: configWithResolver + "# new"}))
	assert.Assert(t, p.engine.Directory("default") != before)
	assert.NilError(t, p.updateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: queues}))
	assert.Assert(t, p.engine.Directory("default") == nil)
}
