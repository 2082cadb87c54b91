package rmproxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// pools is a configuration of so many partitions, whose users are looked up.
func pools(n int) string {
	var b strings.Builder
	b.WriteString("partitions:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: p%d, usergroupresolver: {type: os}, queues: [{name: root, submitacl: '*'}]}\n", i)
	}
	return b.String()
}

// asked gives every partition with a resolver a Directory, and each configuration others.
func asked(conf *configs.Config, _ map[string]Directory) (map[string]Directory, error) {
	all := map[string]Directory{}
	for _, p := range conf.Partitions {
		if p.UserResolver != "" {
			all[p.Name] = &oracleOfNames{groups: []string{"of", p.Name}}
		}
	}
	return all, nil
}

// Whoever finds a partition finds who knows its users, however early.
func TestAPartitionIsNeverThereBeforeItsDirectory(t *testing.T) {
	p := New(Options{Users: asked})
	defer p.Close()
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.enlist(&si.RegisterResourceManagerRequest{RmID: "rm", Config: pools(1)}, open))
	early := make(chan bool)
	go func() {
		for { // what a door does that gets an application for p1
			if _, ok := p.cluster.Partition("p1"); ok {
				early <- p.directory("p1") == nil
				return
			}
		}
	}()
	// Many are made after p1, so it is there a while before the reload is over.
	assert.NilError(t, p.configure(&si.UpdateConfigurationRequest{RmID: "rm", Config: pools(300)}))
	assert.Assert(t, !<-early, "it was there, and nobody to ask about its users")
}

func TestARefusedConfigurationLeavesTheDirectoriesAsTheyWere(t *testing.T) {
	p := New(Options{Users: asked})
	defer p.Close()
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.enlist(&si.RegisterResourceManagerRequest{RmID: "rm", Config: looked}, open))
	before := p.directory("default")
	s := p.current()
	app := newApp("app", "root.a")
	assert.NilError(t, s.take(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
	inTheWay := strings.Replace(looked, "{name: a}", "{name: a, queues: [{name: below}]}", 1)
	err := p.configure(&si.UpdateConfigurationRequest{RmID: "rm", Config: inTheWay})
	assert.ErrorContains(t, err, "it holds application app")
	assert.Assert(t, p.directory("default") == before)
	assert.NilError(t, p.configure(&si.UpdateConfigurationRequest{RmID: "rm", Config: looked + "# new"}))
	assert.Assert(t, p.directory("default") != before)
	assert.NilError(t, p.configure(&si.UpdateConfigurationRequest{RmID: "rm", Config: queues}))
	assert.Assert(t, p.directory("default") == nil)
}
