package webservice

import (
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// why says what stands in the way of an ask. A key that nobody knows is not pending
// either: it may have been released a moment ago.
func (s *service) why(r *http.Request) (any, error) {
	key, err := parameter(r, "key")
	if err != nil {
		return nil, err
	}
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	verdict, err := l.Why(r.Context(), objects.AllocationKey(key))
	if err != nil {
		return nil, err
	}
	return whyBody{
		AllocationKey: key, Verdict: verdict.String(),
		ApplicationID: string(verdict.App), User: verdict.User.Name, Groups: verdict.User.Groups,
	}, nil
}
