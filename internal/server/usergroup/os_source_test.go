package usergroup

import (
	"context"
	"fmt"
	"os/user"
	"slices"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

func TestOSSource_CurrentUser(t *testing.T) {
	current, err := user.Current()
	assert.NilError(t, err)
	primary, err := user.LookupGroupId(current.Gid)
	assert.NilError(t, err)
	s := newOSSource(osGroups)
	groups, err := s.Groups(t.Context(), current.Username)
	assert.NilError(t, err)
	assert.Assert(t, slices.Contains(groups, primary.Name), "%v has no %s", groups, primary.Name)
	_, err = s.Groups(t.Context(), "no:such/user")
	assert.Error(t, err, `there is no user "no:such/user"`)
	_, err = s.Groups(t.Context(), current.Username+"\x00x")
	assert.Error(t, err, fmt.Sprintf("there is no user %q", current.Username+"\x00x"), "a name with NUL is no user")
}

// A hanging call is abandoned, and other calls run until maxOSCalls of them hang.
func TestOSSource_HangingCallIsAbandoned(t *testing.T) {
	release := make(chan struct{})
	var calls sync.WaitGroup
	calls.Add(maxOSCalls)
	s := newOSSource(func(string) ([]string, error) {
		calls.Done()
		<-release
		return []string{"late"}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range maxOSCalls {
		waiting.Go(func() {
			_, err := s.Groups(ctx, "ann")
			assert.Check(t, err == context.Canceled, "%v", err)
		})
	}
	calls.Wait()
	cancel()
	waiting.Wait()
	_, err := s.Groups(ctx, "bob") // maxOSCalls hang, so there is no further call
	assert.ErrorIs(t, err, context.Canceled)
	close(release)
	for range maxOSCalls {
		s.calls <- struct{}{} // all calls have returned
	}
}
