package webservice

import (
	"errors"
	"net/http"
	"time"
)

// ResourceManager is a registered resource manager (OBS-23).
type ResourceManager struct {
	ID          string    `json:"rmID"`
	State       string    `json:"state"` // Connected or Disconnected
	Since       time.Time `json:"since"` // when the state began
	Listening   bool      `json:"listening"`
	Streams     []string  `json:"streams"`
	InProcess   bool      `json:"inProcess"`
	Undelivered uint64    `json:"undeliveredBytes"`
	// when another resource manager may replace it; missing: it is connected
	ReplaceableFrom *time.Time        `json:"replaceableFrom,omitempty"`
	Registered      time.Time         `json:"registered"`
	Version         string            `json:"version"`
	PolicyGroup     string            `json:"policyGroup"`
	BuildInfo       map[string]string `json:"buildInfo,omitempty"`
	Partitions      []string          `json:"partitions"`
}

// ResourceManagers are the registered resource managers. It must be safe for concurrent use.
type ResourceManagers interface {
	// List returns all of them.
	List() []ResourceManager
	// Release ends a registration; with force also that of a connected resource manager (OBS-80).
	// Errors: ErrNoManager, ErrManagerConnected.
	Release(rm string, force bool) error
}

// Errors of ResourceManagers.Release.
var (
	ErrNoManager        = errors.New("resource manager not found")
	ErrManagerConnected = errors.New("the resource manager is connected")
)

func (s *service) managers(*http.Request) (any, error) {
	all := s.opt.Managers.List()
	if all == nil {
		all = []ResourceManager{}
	}
	for i := range all {
		all[i].Partitions = s.cluster.Partitions() // a resource manager has all partitions (RMI-71)
	}
	return all, nil
}

func (s *service) releaseManager(r *http.Request) (any, error) {
	rm, force := r.PathValue("rm"), false
	switch text := r.URL.Query().Get("force"); text {
	case "", "false":
	case "true":
		force = true
	default:
		return nil, badRequest("force is %q: it takes true or false", text)
	}
	switch err := s.opt.Managers.Release(rm, force); {
	case errors.Is(err, ErrNoManager):
		return nil, refusal(http.StatusNotFound, "%v", err)
	case errors.Is(err, ErrManagerConnected):
		return nil, refusal(http.StatusConflict, "%v: end it first, or send force=true", err)
	case err != nil:
		return nil, err
	}
	return map[string]string{"released": rm}, nil
}
