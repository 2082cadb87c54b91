package usergroup

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
)

// maxOSCalls bounds the calls of the operating system that run at a time in a process (ACL-38). A call that hangs
// cannot be cancelled, so the number must be bounded.
const maxOSCalls = 64

// osSource is the user and group database of the operating system (ACL-37).
type osSource struct {
	calls        chan struct{} // holds a token per running call
	lookupGroups func(user string) ([]string, error)
}

func newOSSource(find func(user string) ([]string, error)) *osSource {
	return &osSource{calls: make(chan struct{}, maxOSCalls), lookupGroups: find}
}

func (s *osSource) String() string { return "os" }

// Groups implements Source. The call of the operating system has no time-out (it may query a server), so it is
// abandoned when ctx ends.
func (s *osSource) Groups(ctx context.Context, name string) ([]string, error) {
	select {
	case s.calls <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	got := make(chan result, 1)
	go func() {
		defer func() { <-s.calls }()
		groups, err := s.lookupGroups(name)
		got <- result{groups, err}
	}()
	select {
	case a := <-got:
		return a.groups, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// osGroups reads the groups of a user. A group without a name is left out.
func osGroups(name string) ([]string, error) {
	if strings.ContainsRune(name, 0) { // C ends the name at NUL and would find another user
		return nil, fmt.Errorf("there is no user %q", name)
	}
	u, err := user.Lookup(name)
	if unknown := (user.UnknownUserError)(""); errors.As(err, &unknown) {
		return nil, fmt.Errorf("there is no user %q", name)
	}
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, id := range ids {
		g, err := user.LookupGroupId(id)
		if unknown := (user.UnknownGroupIdError)(""); errors.As(err, &unknown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		names = append(names, g.Name)
	}
	return names, nil
}
