package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// configWithResolver is a configuration whose users are resolved.
const configWithResolver = `
partitions:
  - name: default
    usergroupresolver: {type: os}
    queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
`

func appWithoutGroups(id, user string) *si.AddApplicationRequest {
	return &si.AddApplicationRequest{ApplicationID: id, QueueName: "root.a", Ugi: &si.UserGroupInformation{User: user}}
}

// applicationResults are the answers to n applications: accepted, or the reason of the rejection.
func applicationResults(t *testing.T, a receiver[*si.ApplicationResponse], n int) map[string]string {
	t.Helper()
	got := map[string]string{}
	for len(got) < n {
		m, err := a.Recv()
		assert.NilError(t, err, "%v", got)
		for _, x := range m.Accepted {
			got[x.ApplicationID] = "accepted"
		}
		for _, x := range m.Rejected {
			got[x.ApplicationID] = x.Reason
		}
	}
	return got
}

// The answer is sent on the stream that is open when the lookup ends.
func TestPendingLookups_SurviveABrokenStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resolver := &scriptedResolver{}
		r := newBubbleRig(t, testOptions{Directories: resolver.newDirectories(t.Cleanup)})
		assert.NilError(t, r.register("rm", configWithResolver))
		ctx, cancel := context.WithCancel(r.ctx)
		first, err := r.client.UpdateApplication(ctx)
		assert.NilError(t, err)
		assert.NilError(t, first.Send(&si.ApplicationRequest{
			RmID: "rm", New: []*si.AddApplicationRequest{appWithoutGroups("app", "ann"), appWithoutGroups("ghost", "ghost")},
		}))
		synctest.Wait()
		assert.DeepEqual(t, resolver.takeLookups(), []string{"ann", "ghost"})
		cancel()
		synctest.Wait()

		again, x := r.openApplicationStream(), r.openAllocationStream()
		assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k1", "app")}}))
		synctest.Wait()
		resolver.reply("ghost") <- lookupResult{err: errors.New("unknown")}
		resolver.reply("ann") <- lookupResult{groups: []string{"dev"}}
		assert.DeepEqual(t, applicationResults(t, again, 2), map[string]string{
			"app": "accepted", "ghost": `user "ghost" cannot be resolved: scripted resolver: unknown`,
		})
		assert.Equal(t, r.snapshot("default").Asks, 1, "the ask waited too")
	})
}

// Neither the API nor the directories leave goroutines behind: package goleak checks.
func TestPendingLookups_CloseWhileLookupsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resolver := &scriptedResolver{}
		r := newBubbleRig(t, testOptions{Directories: resolver.newDirectories(t.Cleanup)})
		assert.NilError(t, r.register("rm", configWithResolver))
		a := r.openApplicationStream()
		var many []*si.AddApplicationRequest
		for i := range 200 {
			many = append(many, appWithoutGroups(fmt.Sprint("app", i), fmt.Sprint("u", i)))
		}
		assert.NilError(t, a.Send(&si.ApplicationRequest{New: many}))
		synctest.Wait()
		assert.Equal(t, len(resolver.takeLookups()), 64)
		r.p.stop()
	})
}

// A stream that sends without end to an application that waits is not read.
func TestPendingLookups_FullStopsReadingStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resolver := &scriptedResolver{}
		p := newTestProxy(testOptions{Directories: resolver.newDirectories(t.Cleanup)})
		t.Cleanup(p.stop)
		open := func() *session { return newSession(p, "rm") }
		assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm", Config: configWithResolver}, open))
		s := p.current()
		s.handle(&si.ApplicationRequest{New: []*si.AddApplicationRequest{appWithoutGroups("app", "ann")}})
		asks := &si.AllocationRequest{}
		for i := range maxHeldCommands - 2 {
			asks.Allocations = append(asks.Allocations, fakerm.Ask(fmt.Sprint("k", i), "app"))
		}
		s.handle(asks)
		assert.NilError(t, s.waitForLookups(t.Context()))
		s.handle(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("last", "app")}})

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, s.waitForLookups(ended), context.Canceled)
		read := make(chan error, 1)
		go func() { read <- s.waitForLookups(context.Background()) }()
		synctest.Wait()
		assert.Equal(t, len(read), 0, "the stream should wait")
		resolver.reply("ann") <- lookupResult{groups: []string{"dev"}}
		assert.NilError(t, <-read)
		assert.Equal(t, s.lookups.count.Load(), int64(0))
		l, _ := p.cluster.Partition("default")
		view, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, view.Asks, maxHeldCommands-1)
	})
}

// A linked shim is not made to wait, because its callback could be what it waits for: the call
// fails, and only if a command of the message would have to wait.
func TestPendingLookups_FullFailsUpdatesOfALinkedShim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resolver, recorder := &scriptedResolver{}, &fakerm.Recorder{}
		d := newTestInProcess(testOptions{Directories: resolver.newDirectories(t.Cleanup)})
		t.Cleanup(d.Stop)
		_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: configWithResolver},
			recorder)
		assert.NilError(t, err)
		apps := func(all ...*si.AddApplicationRequest) error {
			return d.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: all})
		}
		asks := func(n int, name, app string) error {
			m := &si.AllocationRequest{RmID: "rm"}
			for i := range n {
				m.Allocations = append(m.Allocations, fakerm.Ask(fmt.Sprint(name, i), app))
			}
			return d.UpdateAllocation(m)
		}
		assert.NilError(t, apps(appWithoutGroups("app", "ann"), fakerm.App("known", "root.a")))
		assert.NilError(t, asks(maxHeldCommands-1, "k", "app"))
		assert.ErrorIs(t, asks(1, "more", "app"), ErrPendingLookupsFull)
		err = apps(fakerm.App("with", "root.a"), appWithoutGroups("noUser", "bob"))
		assert.Error(t, err,
			"received ApplicationRequest, but too many commands wait for users to be resolved: send the message again later")
		assert.ErrorIs(t, err, ErrPendingLookupsFull)
		assert.NilError(t, asks(1, "other", "known"), "the ask need not wait")
		assert.NilError(t, apps(fakerm.App("late", "root.a")))
		assert.NilError(t, d.UpdateNode(&si.NodeRequest{RmID: "rm"}))
		synctest.Wait()
		assert.DeepEqual(t, resolver.takeLookups(), []string{"ann"})
		assert.Equal(t, answersByApp(recorder),
			"accepted application known\napplication known is Accepted\naccepted application late\n")

		resolver.reply("ann") <- lookupResult{groups: []string{"dev"}}
		synctest.Wait()
		assert.NilError(t, asks(1, "more", "app"))
		synctest.Wait()
		l, _ := d.Cluster().Partition("default")
		view, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, view.Asks, maxHeldCommands+1)
	})
}

// Streams that wait for lookups end with the session.
func TestPendingLookups_WaitEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestProxy(testOptions{})
		s := newSession(p, "rm")
		s.lookups.count.Store(maxHeldCommands)
		read := make(chan error, 1)
		go func() { read <- s.waitForLookups(context.Background()) }()
		synctest.Wait()
		s.close(ErrClosed)
		assert.ErrorIs(t, <-read, ErrClosed)
		p.stop()
	})
}

// The initial configuration was checked before; if its directory fails nevertheless, applications
// are rejected.
func TestUsers_FailedDirectoryRejectsApplications(t *testing.T) {
	first, err := reload.Read(reload.File, "", []byte(configWithResolver), queuesyaml.Options{})
	assert.NilError(t, err)
	fail := func(*configs.Config, map[string]engine.Directory) (map[string]engine.Directory, error) {
		return nil, errors.New("no server")
	}
	r := newRig(t, testOptions{InitialConfig: first, IgnoreRMConfig: true, Directories: fail})
	assert.NilError(t, r.register("rm", ""))
	a := r.openApplicationStream()
	forced := appWithoutGroups("forced", "ann")
	forced.Tags = map[string]string{"application.create.force": "true"}
	assert.NilError(t,
		a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{appWithoutGroups("app", "ann"), forced}}))
	assert.DeepEqual(t, applicationResults(t, a, 2), map[string]string{
		"app": `user "ann" cannot be resolved: invalid configuration: no server`, "forced": "accepted",
	})
}

// The number of groups of a user is bounded, because every limit and filter goes through them.
func TestUsers_NumberOfGroupsIsBounded(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	a := r.openApplicationStream()
	atLimit, aboveLimit := fakerm.App("at-limit", "root.a"), fakerm.App("above-limit", "root.a")
	for i := range security.MaxGroups {
		atLimit.Ugi.Groups = append(atLimit.Ugi.Groups[:i], fmt.Sprint("g", i))
	}
	aboveLimit.Ugi.Groups = append(slices.Clone(atLimit.Ugi.Groups), "g4096")
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{atLimit, aboveLimit}}))
	assert.DeepEqual(t, applicationResults(t, a, 2), map[string]string{
		"at-limit": "accepted", "above-limit": `user "u" has 4097 groups, at most 4096 are allowed`,
	})
}

// They are not resolved: C reads a name up to a NUL, which may be the name of another user, and a
// line break makes two log lines of one.
func TestUsers_NamesWithControlCharactersAreRejected(t *testing.T) {
	want := map[string]string{
		"nul":         `user name has a control character: "root\x00x"`,
		"break":       `user name has a control character: "ann\nbob"`,
		"del":         `user name has a control character: "ann\x7f"`,
		"late":        `user name has a control character: "ann\u0085"`,
		"group":       `group name has a control character: "dev\x00ops"`,
		"badResource": "accepted", "usual": "accepted",
		"forced": "accepted", // of nobody, in the recovery queue
	}
	apps := func() []*si.AddApplicationRequest {
		group, forced := fakerm.App("group", "root.a"), appWithoutGroups("forced", "root\x00")
		group.Ugi.Groups = []string{"ops", "dev\x00ops"}
		forced.Tags = map[string]string{"application.create.force": "true"}
		return []*si.AddApplicationRequest{
			appWithoutGroups("nul", "root\x00x"), appWithoutGroups("break", "ann\nbob"), appWithoutGroups("del", "ann\x7f"),
			appWithoutGroups("late", "ann\u0085"),
			group, forced, appWithoutGroups("badResource", "Zoë 1*)(uid="), fakerm.App("usual", "root.a"),
		}
	}
	directories := func(*configs.Config, map[string]engine.Directory) (map[string]engine.Directory, error) {
		return map[string]engine.Directory{"default": fixedDirectory{groups: []string{"wheel"}}}, nil
	}
	r := newRig(t, testOptions{Directories: directories})
	assert.NilError(t, r.register("rm", configWithResolver))
	a := r.openApplicationStream()
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: apps()}))
	assert.DeepEqual(t, applicationResults(t, a, len(want)), want)

	synctest.Test(t, func(t *testing.T) {
		recorder := &fakerm.Recorder{}
		d := newTestInProcess(testOptions{Directories: directories})
		t.Cleanup(d.Stop)
		_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: configWithResolver},
			recorder)
		assert.NilError(t, err)
		assert.NilError(t, d.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: apps()}))
		synctest.Wait()
		recorded := answersByApp(recorder)
		for app, result := range want {
			line := "rejected application " + app + ": " + result
			if result == "accepted" {
				line = "accepted application " + app
			}
			assert.Assert(t, strings.Contains(recorded, line+"\n"), "no %q in %s", line, recorded)
		}
	})
}

func TestUsers_WarnsWithoutDirectories(t *testing.T) {
	r := newRig(t, testOptions{})
	assert.NilError(t, r.register("rm", configWithResolver))
	a := r.openApplicationStream()
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{appWithoutGroups("app", "ann")}}))
	receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)
	assert.Equal(t, r.logs.FilterMessage("users are not resolved: there is no user directory").Len(), 1)
	assert.DeepEqual(t, r.snapshot("default").Root.Children.At(0).Applications.At(0).User.Groups, []string{"ann"})
}

// fixedDirectory is a Directory that gives one answer to every lookup, without a cache.
type fixedDirectory struct {
	groups []string
	err    error
}

func (o fixedDirectory) Cached(string) (groups []string, ok bool, err error) { return nil, false, nil }
func (o fixedDirectory) Resolve(_ string, then func([]string, error)) {
	go then(o.groups, o.err)
}

// Whatever names of users and groups the RM or a directory sends: nothing panics, every
// application has one answer, the answer can be marshalled, and an owner that is accepted can be
// shown.
func FuzzUsers(f *testing.F) {
	f.Add("ann", "dev", false, false, byte(0))
	f.Add("", "", true, true, byte(1))
	f.Add("system:serviceaccount:ns:x", "data.science", false, true, byte(2))
	f.Add("\xff", "a\x00b", true, false, byte(3))
	f.Add("1st*)(uid=", " ", false, true, byte(4))
	first, err := reload.Read(reload.File, "", []byte(configWithResolver), queuesyaml.Options{})
	assert.NilError(f, err)
	f.Fuzz(func(t *testing.T, name, group string, force, given bool, kind byte) {
		var directory engine.Directory
		switch kind % 4 {
		case 0:
			directory = fixedDirectory{groups: []string{"dev"}}
		case 1:
			directory = fixedDirectory{err: errors.New("unknown user " + name)}
		case 2:
			directory = failingDirectory{errors.New(group)}
		}
		p := newTestProxy(testOptions{InitialConfig: first, IgnoreRMConfig: true,
			Directories: func(*configs.Config, map[string]engine.Directory) (map[string]engine.Directory, error) {
				return map[string]engine.Directory{"default": directory}, nil
			}})
		defer p.stop()
		open := func() *session { return newSession(p, "rm") }
		assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm"}, open))
		s := p.current()
		a := appWithoutGroups("app", name)
		if given {
			a.Ugi.Groups = []string{group}
		}
		if force {
			a.Tags = map[string]string{"application.create.force": "1"}
		}
		s.handle(&si.ApplicationRequest{New: []*si.AddApplicationRequest{a}})
		s.handle(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}})
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // fails the test when it blocks
		defer cancel()
		box, answers := s.outboxes[applicationStream], 0
		for answers == 0 {
			select {
			case <-box.wake:
			case <-ctx.Done():
				t.Fatalf("no answer: %q %q %v %v %d", name, group, force, given, kind)
			}
			for batch := box.takeBatch(); batch != nil; batch = box.takeBatch() {
				m := applicationResponse(batch)
				_, err := proto.Marshal(m)
				assert.NilError(t, err)
				answers += len(m.Accepted) + len(m.Rejected)
				box.delivered()
			}
		}
		assert.Equal(t, answers, 1)
		l, _ := p.cluster.Partition("default")
		view, err := l.Snapshot(context.Background())
		assert.NilError(t, err)
		for shown := range view.Root.Children.At(0).Applications.All() {
			for _, text := range append([]string{shown.User.Name}, shown.User.Groups...) {
				assert.Assert(t, text != "" && len(text) <= maxID && security.IsPrintable(text), "%q", text)
			}
		}
	})
}

// failingDirectory is a Directory that cannot resolve any user.
type failingDirectory struct{ err error }

func (u failingDirectory) Cached(string) (groups []string, ok bool, err error) {
	return nil, true, u.err
}
func (u failingDirectory) Resolve(string, func([]string, error)) {}
