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

func TestTheOperatingSystemKnowsWhoRunsThis(t *testing.T) {
	me, err := user.Current()
	assert.NilError(t, err)
	primary, err := user.LookupGroupId(me.Gid)
	assert.NilError(t, err)
	s := newSystem(groupsOf)
	groups, err := s.Groups(t.Context(), me.Username)
	assert.NilError(t, err)
	assert.Assert(t, slices.Contains(groups, primary.Name), "%v has no %s", groups, primary.Name)
	_, err = s.Groups(t.Context(), "no:such/user")
	assert.Error(t, err, `there is no user "no:such/user"`)
	_, err = s.Groups(t.Context(), me.Username+"\x00x")
	assert.Error(t, err, fmt.Sprintf("there is no user %q", me.Username+"\x00x"), "it is nobody, not who is before the NUL")
}

// A call that hangs is left alone, and others go on until too many hang.
func TestACallThatHangsIsLeftAlone(t *testing.T) {
	let := make(chan struct{})
	var calls sync.WaitGroup
	calls.Add(mostCalls)
	s := newSystem(func(string) ([]string, error) {
		calls.Done()
		<-let
		return []string{"late"}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range mostCalls {
		waiting.Go(func() {
			_, err := s.Groups(ctx, "ann")
			assert.Check(t, err == context.Canceled, "%v", err)
		})
	}
	calls.Wait()
	cancel()
	waiting.Wait()
	_, err := s.Groups(ctx, "bob") // no room: it would have been called once too often
	assert.ErrorIs(t, err, context.Canceled)
	close(let)
	for range mostCalls {
		s.calls <- struct{}{} // all have come back
	}
}
