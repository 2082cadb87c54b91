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

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// scriptedResolver is a usergroup.Source whose answers the test gives.
type scriptedResolver struct {
	mu      sync.Mutex
	pending map[string]chan lookupResult // by user
	lookups []string
}

type lookupResult struct {
	groups []string
	err    error
}

func (s *scriptedResolver) String() string { return "scripted resolver" }

func (s *scriptedResolver) reply(user string) chan lookupResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		s.pending = map[string]chan lookupResult{}
	}
	if s.pending[user] == nil {
		s.pending[user] = make(chan lookupResult)
	}
	return s.pending[user]
}

func (s *scriptedResolver) Groups(ctx context.Context, user string) ([]string, error) {
	reply := s.reply(user)
	s.mu.Lock()
	s.lookups = append(s.lookups, user)
	s.mu.Unlock()
	select {
	case f := <-reply:
		return f.groups, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// resolve answers the pending lookup of a user.
func (s *scriptedResolver) resolve(user string, f lookupResult) string {
	select {
	case s.reply(user) <- f:
		return ""
	default:
		return "no pending lookup of " + user + "\n"
	}
}

// takeLookups are the users that were looked up since the last call.
func (s *scriptedResolver) takeLookups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lookups := s.lookups
	s.lookups = nil
	slices.Sort(lookups)
	return lookups
}

// newDirectories gives each partition with a resolver a Directory over the scripted resolver.
func (s *scriptedResolver) newDirectories(close func(func())) engine.Directories {
	all := map[string]*usergroup.Resolver{}
	return func(conf *configs.Config, _ map[string]engine.Directory) (map[string]engine.Directory, error) {
		out := map[string]engine.Directory{}
		for _, p := range conf.Partitions {
			switch p.UserGroupResolver {
			case "":
				continue
			case "ldap":
				return nil, errors.New("settings of LDAP in nowhere: missing: Host, Port")
			}
			if all[p.Name] == nil {
				all[p.Name] = usergroup.NewResolver(s, usergroup.Options{})
				close(all[p.Name].Close)
			}
			out[p.Name] = all[p.Name]
		}
		return out, nil
	}
}

// answersByApp are the answers since the last call, one application after the other: the order of answers about
// different applications is not determined.
func answersByApp(r *fakerm.Recorder) string {
	answers := r.Take(fakerm.ApplicationAccepted, fakerm.ApplicationRejected, fakerm.ApplicationState, fakerm.Allocated,
		fakerm.Released, fakerm.AskRejected)
	slices.SortStableFunc(answers, func(a, b fakerm.Answer) int { return strings.Compare(a.App, b.App) })
	return lines(answers)
}

func lines(answers []fakerm.Answer) string {
	var b strings.Builder
	for _, a := range answers {
		fmt.Fprintln(&b, a)
	}
	return b.String()
}

// transcript is a linked core whose users are resolved.
type transcript struct {
	*InProcess
	resolver *scriptedResolver
	rm       *fakerm.Recorder
}

// TestUsers_Transcript reads the file as messages of a shim and answers of the resolver, and
// after the line the answers to the shim and the users that are looked up. Run with -rewrite
// after a change, then read the diff.
func TestUsers_Transcript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transcript{resolver: &scriptedResolver{}, rm: &fakerm.Recorder{}}
		tr.InProcess = newTestInProcess(testOptions{Directories: tr.resolver.newDirectories(t.Cleanup)})
		t.Cleanup(tr.Stop)
		directives := 0
		datadriven.RunTest(t, "testdata/transcripts/users.txt", func(t *testing.T, d *datadriven.TestData) string {
			directives++
			out := tr.runDirective(t, d)
			synctest.Wait()
			for _, user := range tr.resolver.takeLookups() {
				out += "lookup " + user + "\n"
			}
			return out + answersByApp(tr.rm)
		})
		assert.Assert(t, directives > 30, "only %d directives", directives)
	})
}

func (tr *transcript) runDirective(t *testing.T, d *datadriven.TestData) string {
	app, key, user := directiveArg(d, "app"), directiveArg(d, "key"), directiveArg(d, "user")
	apps := &si.ApplicationRequest{RmID: "rm"}
	allocs := &si.AllocationRequest{RmID: "rm"}
	switch d.Cmd {
	case "register":
		return errorLine(tr.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: d.Input}, tr.rm))
	case "config":
		return errorLine(0, tr.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: d.Input}))
	case "add-node":
		assert.NilError(t,
			tr.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node(directiveArg(d, "node"))}}))
	case "add-app":
		a := &si.AddApplicationRequest{
			ApplicationID: app, QueueName: directiveArg(d, "queue"), PartitionName: directiveArg(d, "partition"),
			Ugi: &si.UserGroupInformation{User: user, Groups: directiveArgs(d, "groups")},
		}
		if d.HasArg("force") {
			a.Tags = map[string]string{"application.create.force": "true"}
		}
		apps.New = append(apps.New, a)
		assert.NilError(t, tr.UpdateApplication(apps))
	case "remove-app":
		apps.Remove = append(apps.Remove, &si.RemoveApplicationRequest{ApplicationID: app})
		assert.NilError(t, tr.UpdateApplication(apps))
	case "ask":
		x := fakerm.Ask(key, app)
		x.NodeID, x.PartitionName = directiveArg(d, "node"), directiveArg(d, "partition")
		allocs.Allocations = append(allocs.Allocations, x)
		assert.NilError(t, tr.UpdateAllocation(allocs))
	case "release":
		allocs.Releases = &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{ApplicationID: app, AllocationKey: key, TerminationType: si.TerminationType_STOPPED_BY_RM},
		}}
		assert.NilError(t, tr.UpdateAllocation(allocs))
	case "resolved":
		return tr.resolver.resolve(user, lookupResult{groups: directiveArgs(d, "groups")})
	case "lookup-failed":
		return tr.resolver.resolve(user, lookupResult{err: errors.New(strings.TrimSpace(d.Input))})
	case "after":
		step, err := time.ParseDuration(d.CmdArgs[0].Key)
		assert.NilError(t, err)
		time.Sleep(step)
	case "applications":
		return tr.listApplications(t)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return ""
}

// listApplications lists the applications of the default partition by queue, with their owners.
func (tr *transcript) listApplications(t *testing.T) string {
	l, ok := tr.Cluster().Partition("default")
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

func errorLine[T any](_ T, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	return ""
}

func directiveArgs(d *datadriven.TestData, name string) []string {
	arg, _ := d.Arg(name)
	return arg.Vals
}

func directiveArg(d *datadriven.TestData, name string) string {
	if all := directiveArgs(d, name); len(all) > 0 {
		return all[0]
	}
	return ""
}
