package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/cockroachdb/datadriven"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/usergroup"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// switchboard is a usergroup.Source that answers when a test does.
type switchboard struct {
	mu    sync.Mutex
	lines map[string]chan found // by user
	asked []string
}

type found struct {
	groups []string
	err    error
}

func (s *switchboard) String() string { return "switchboard" }

func (s *switchboard) line(user string) chan found {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		s.lines = map[string]chan found{}
	}
	if s.lines[user] == nil {
		s.lines[user] = make(chan found)
	}
	return s.lines[user]
}

func (s *switchboard) Groups(ctx context.Context, user string) ([]string, error) {
	line := s.line(user)
	s.mu.Lock()
	s.asked = append(s.asked, user)
	s.mu.Unlock()
	select {
	case f := <-line:
		return f.groups, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answer answers whoever asks about the user.
func (s *switchboard) answer(user string, f found) string {
	select {
	case s.line(user) <- f:
		return ""
	default:
		return "nobody asks about " + user + "\n"
	}
}

// calls are the users that were asked about since the last time.
func (s *switchboard) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	slices.Sort(asked)
	return asked
}

// directories gives each partition that wants it a Directory of the switchboard.
func (s *switchboard) directories(close func(func())) Directories {
	all := map[string]*usergroup.Directory{}
	return func(conf *configs.Config, _ map[string]Directory) (map[string]Directory, error) {
		out := map[string]Directory{}
		for _, p := range conf.Partitions {
			switch p.UserResolver {
			case "":
				continue
			case "ldap":
				return nil, errors.New("settings of LDAP in nowhere: missing: Host, Port")
			}
			if all[p.Name] == nil {
				all[p.Name] = usergroup.NewDirectory(s, usergroup.Options{})
				close(all[p.Name].Close)
			}
			out[p.Name] = all[p.Name]
		}
		return out, nil
	}
}

// scribe is a callback that writes down what is said about each application.
type scribe struct {
	shim
	lines []remark
}

type remark struct{ app, text string }

func (s *scribe) note(app, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, remark{app, fmt.Sprintf(format, args...)})
}

func (s *scribe) UpdateApplication(m *si.ApplicationResponse) error {
	for _, a := range m.Accepted {
		s.note(a.ApplicationID, "accepted application %s", a.ApplicationID)
	}
	for _, a := range m.Rejected {
		s.note(a.ApplicationID, "rejected application %s: %s", a.ApplicationID, a.Reason)
	}
	for _, a := range m.Updated {
		s.note(a.ApplicationID, "application %s is %s", a.ApplicationID, a.State)
	}
	return nil
}

func (s *scribe) UpdateAllocation(m *si.AllocationResponse) error {
	for _, x := range m.New {
		s.note(x.ApplicationID, "allocated %s (%s) on %s", x.AllocationKey, x.ApplicationID, x.NodeID)
	}
	for _, x := range m.Released {
		s.note(x.ApplicationID, "released %s (%s): %s", x.AllocationKey, x.ApplicationID, x.Message)
	}
	for _, x := range m.RejectedAllocations {
		s.note(x.ApplicationID, "rejected ask %s (%s): %s", x.AllocationKey, x.ApplicationID, x.Reason)
	}
	return nil
}

func (s *scribe) Predicates(*si.PredicatesArgs) error { return nil }

// told is what the shim has heard since the last time, one application after the other:
// those that waited for different answers, or that need the door's and the core's, have
// no order among each other.
func (s *scribe) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.lines, func(a, b remark) int { return strings.Compare(a.app, b.app) })
	var b strings.Builder
	for _, line := range s.lines {
		fmt.Fprintln(&b, line.text)
	}
	s.lines = nil
	return b.String()
}

// talk is a conversation with a linked core whose users are looked up.
type talk struct {
	*InProcess
	board *switchboard
	shim  *scribe
}

// TestConversationsAboutUsers reads the file as a talk between a shim, the scheduler and
// whoever knows the users: what is said, and after the line what the shim hears and about
// whom the resolver is asked. Run with -rewrite after a change, then read the diff.
func TestConversationsAboutUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &talk{board: &switchboard{}, shim: &scribe{}}
		c.InProcess = NewInProcess(Options{Users: c.board.directories(t.Cleanup)})
		t.Cleanup(c.Stop)
		directives := 0
		datadriven.RunTest(t, "testdata/conversations/users.txt", func(t *testing.T, d *datadriven.TestData) string {
			directives++
			out := c.say(t, d)
			synctest.Wait()
			for _, user := range c.board.calls() {
				out += "who is " + user + "?\n"
			}
			return out + c.shim.told()
		})
		assert.Assert(t, directives > 30, "only %d directives", directives)
	})
}

func (c *talk) say(t *testing.T, d *datadriven.TestData) string {
	app, key, user := word(d, "app"), word(d, "key"), word(d, "user")
	apps := &si.ApplicationRequest{RmID: "rm"}
	work := &si.AllocationRequest{RmID: "rm"}
	switch d.Cmd {
	case "register":
		return failure(c.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: d.Input}, c.shim))
	case "config":
		return failure(0, c.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: d.Input}))
	case "add-node":
		assert.NilError(t, c.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{nodeCreated(word(d, "node"))}}))
	case "add-app":
		a := &si.AddApplicationRequest{
			ApplicationID: app, QueueName: word(d, "queue"), PartitionName: word(d, "partition"),
			Ugi: &si.UserGroupInformation{User: user, Groups: words(d, "groups")},
		}
		if d.HasArg("force") {
			a.Tags = map[string]string{"application.create.force": "true"}
		}
		apps.New = append(apps.New, a)
		assert.NilError(t, c.UpdateApplication(apps))
	case "remove-app":
		apps.Remove = append(apps.Remove, &si.RemoveApplicationRequest{ApplicationID: app})
		assert.NilError(t, c.UpdateApplication(apps))
	case "ask":
		x := newAsk(key, app)
		x.NodeID, x.PartitionName = word(d, "node"), word(d, "partition")
		work.Allocations = append(work.Allocations, x)
		assert.NilError(t, c.UpdateAllocation(work))
	case "release":
		work.Releases = &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{ApplicationID: app, AllocationKey: key, TerminationType: si.TerminationType_STOPPED_BY_RM},
		}}
		assert.NilError(t, c.UpdateAllocation(work))
	case "found":
		return c.board.answer(user, found{groups: words(d, "groups")})
	case "lost":
		return c.board.answer(user, found{err: errors.New(strings.TrimSpace(d.Input))})
	case "after":
		step, err := time.ParseDuration(d.CmdArgs[0].Key)
		assert.NilError(t, err)
		time.Sleep(step)
	case "applications":
		return c.applications(t)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return ""
}

// applications are those of the queues of the default partition, with their owners.
func (c *talk) applications(t *testing.T) string {
	l, ok := c.Cluster().Partition("default")
	assert.Assert(t, ok)
	view, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	var b strings.Builder
	for q := range view.Root.Children.All() {
		for a := range q.Applications.All() {
			fmt.Fprintf(&b, "%s: %s of %s %v\n", q.Path, a.ID, a.User.Name, a.User.Groups)
		}
	}
	return b.String()
}

func failure[T any](_ T, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	return ""
}

func words(d *datadriven.TestData, name string) []string {
	arg, _ := d.Arg(name)
	return arg.Vals
}

func word(d *datadriven.TestData, name string) string {
	if all := words(d, name); len(all) > 0 {
		return all[0]
	}
	return ""
}
