package webservice

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// queueLevel is one level of a queue path (CFG-36).
var queueLevel = regexp.MustCompile(`^[a-zA-Z0-9_:#/@-]{1,64}$`)

// parameter decodes a name in the path by the rules of queries: + is a space. The mux has decoded
// it once already, so a slash in a name may be %2F or %252F; YuniKorn takes only the latter (OBS-13).
func parameter(r *http.Request, name string) (string, error) {
	value, err := url.QueryUnescape(r.PathValue(name))
	if err == nil {
		return value, nil
	}
	what := name
	if !slices.Contains([]string{"name", "number", "key"}, name) {
		what += " name"
	}
	return "", badRequest("%s %q: %v", what, truncated(r.PathValue(name)), err)
}

// partition returns the loop of the partition in the path.
func (s *service) partition(r *http.Request) (*loop.Loop, error) {
	name, err := parameter(r, "partition")
	if err != nil {
		return nil, err
	}
	l, ok := s.cluster.Partition(name)
	if !ok {
		return nil, s.unknownPartition(name)
	}
	return l, nil
}

// unknownPartition is the error of a request for a partition that is not served here (HA-13).
func (s *service) unknownPartition(name string) error {
	if s.opt.Elsewhere == nil {
		return notFound("Partition")
	}
	return &failure{status: http.StatusNotFound, reason: "Partition not found" + s.opt.Elsewhere(name)}
}

// snapshot returns a snapshot of the partition in the path, not older than the request.
func (s *service) snapshot(r *http.Request) (*scheduler.Snapshot, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	return s.snapshots.get(r.Context(), l)
}

// queuePath returns the queue in the path of a request, in lower case.
func queuePath(r *http.Request) (string, error) {
	path, err := parameter(r, "queue")
	if err != nil {
		return "", err
	}
	for _, level := range strings.Split(path, ".") {
		if !queueLevel.MatchString(level) {
			return "", badQueueName(path)
		}
	}
	return strings.ToLower(path), nil
}

func badQueueName(path string) error {
	return badRequest("queue name %q: each level is 1 to 64 letters, digits or any of _ : # / @ -", path)
}
