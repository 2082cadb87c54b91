package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// ErrNoConfig says that a server does not tell its configuration.
var ErrNoConfig = errors.New("the server does not tell its configuration")

// Server is the REST interface of a running server.
type Server struct {
	Address string // host:port
	Client  *http.Client
}

// maxAnswerBytes bounds an answer. A cluster with 100,000 applications fits many times.
const maxAnswerBytes = 1 << 30

// Config reads the configuration in force. ErrNoConfig: the server is too old to tell it.
func (s Server) Config(ctx context.Context, o configs.Options) (*configs.Config, error) {
	var all []struct {
		Number uint64 `json:"generation"`
		Active bool   `json:"active"`
	}
	if err := s.read(ctx, historyPath, &all); err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.Active {
			return s.generation(ctx, g.Number, o)
		}
	}
	return nil, fmt.Errorf("%s: %w", s.Address, ErrNoConfig)
}

// generation reads a configuration as it was written: what is served at /ws/v1/config has
// been read and written again, with keys that no document may have.
func (s Server) generation(ctx context.Context, n uint64, o configs.Options) (*configs.Config, error) {
	var g struct {
		Text string `json:"text"`
	}
	if err := s.read(ctx, fmt.Sprintf("%s/%d", historyPath, n), &g); err != nil {
		return nil, err
	}
	text := []byte(g.Text)
	if len(text) == 0 {
		text = configs.Default()
	}
	conf, problems := configs.LoadWith(text, o)
	if conf == nil {
		return nil, fmt.Errorf("%s: the configuration in force cannot be read: %w", s.Address, problems.Errors())
	}
	return conf, nil
}

// historyPath lists the configurations that were in force, and its members have their texts.
const historyPath = "/ws/v1/config/history"

// NodeResources reads which resources the nodes of each partition have, in order.
func (s Server) NodeResources(ctx context.Context) (map[string][]string, error) {
	var all []struct {
		Name     string `json:"name"`
		Capacity struct {
			Capacity map[string]resources.Quantity `json:"capacity"`
		} `json:"capacity"`
	}
	if err := s.read(ctx, "/ws/v1/partitions", &all); err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, p := range all {
		for name, n := range p.Capacity.Capacity {
			if n > 0 {
				out[p.Name] = append(out[p.Name], name)
			}
		}
		slices.Sort(out[p.Name])
	}
	return out, nil
}

// State reads the work in partitions. The server must have those that are wanted: of one that
// it does not have nothing is known, which is not the same as no work. Of others it tells as
// far as it has them, such as one that drains and would come back.
func (s Server) State(ctx context.Context, wanted, others []string) (State, error) {
	var have []struct {
		Name string `json:"name"`
	}
	if err := s.read(ctx, "/ws/v1/partitions", &have); err != nil {
		return nil, err
	}
	var names []string
	for _, p := range have {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%s has no partition %s; it has %s", s.Address, name, strings.Join(names, ", "))
		}
	}
	out := State{}
	for _, name := range slices.Concat(wanted, others) {
		if out[name] != nil || !slices.Contains(names, name) {
			continue
		}
		p, err := s.partition(ctx, name)
		if err != nil {
			return nil, err
		}
		out[name] = p
	}
	return out, nil
}

// restQueue is what a server says about a queue, as far as it matters here.
type restQueue struct {
	Name      string                        `json:"queuename"`
	Leaf      *bool                         `json:"isLeaf"` // nil: it does not say
	Allocated map[string]resources.Quantity `json:"allocatedResource"`
	Children  []restQueue                   `json:"children"`
}

func (s Server) partition(ctx context.Context, name string) (*Partition, error) {
	base := "/ws/v1/partition/" + url.PathEscape(name)
	var root restQueue
	if err := s.read(ctx, base+"/queues", &root); err != nil {
		return nil, err
	}
	p := &Partition{Leaf: map[string]bool{}, Allocated: map[string]map[string]resources.Quantity{}}
	p.addQueue(&root)
	var apps []struct {
		ID     string   `json:"applicationID"`
		Queue  string   `json:"queueName"`
		User   string   `json:"user"`
		Groups []string `json:"groups"`

		Requests    []restWorkload `json:"requests"`
		Allocations []restWorkload `json:"allocations"`
	}
	if err := s.read(ctx, base+"/applications/active", &apps); err != nil {
		return nil, err
	}
	for _, a := range apps {
		user := security.User{Name: a.User, Groups: a.Groups}
		p.Applications = append(p.Applications, Application{a.ID, a.Queue, user})
		for _, w := range slices.Concat(a.Requests, a.Allocations) {
			p.Workloads = append(p.Workloads, Workload{a.Queue, user, w.Class, w.Resource})
		}
	}
	for _, kind := range []string{"users", "groups"} {
		var all []restUsage
		if err := s.read(ctx, base+"/usage/"+kind, &all); err != nil {
			return nil, err
		}
		for _, h := range all {
			if h.Queues != nil {
				p.addUsage(&h, h.Queues)
			}
		}
	}
	return p, nil
}

// restWorkload is what a server says about an ask or an allocation.
type restWorkload struct {
	Class    string                        `json:"priorityClass"`
	Resource map[string]resources.Quantity `json:"resource"`
}

// restUsage is what a server says about a user or a group.
type restUsage struct {
	User   string          `json:"userName"`
	Group  string          `json:"groupName"`
	Queues *restQueueUsage `json:"queues"`
}

// restQueueUsage is what somebody uses in a queue and below it.
type restQueueUsage struct {
	Queue     string                        `json:"queuePath"`
	Resources map[string]resources.Quantity `json:"resourceUsage"`
	Running   []string                      `json:"runningApplications"`
	Children  []restQueueUsage              `json:"children"`
}

func (p *Partition) addUsage(h *restUsage, q *restQueueUsage) {
	p.Usage = append(p.Usage, Usage{q.Queue, h.User, h.Group, q.Resources, len(q.Running)})
	for i := range q.Children {
		p.addUsage(h, &q.Children[i])
	}
}

func (p *Partition) addQueue(q *restQueue) {
	if q.Leaf != nil {
		p.Leaf[q.Name] = *q.Leaf
	}
	p.Allocated[q.Name] = q.Allocated
	for i := range q.Children {
		p.addQueue(&q.Children[i])
	}
}

func (s Server) read(ctx context.Context, path string, to any) error {
	body, err := s.get(ctx, path)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, maxAnswerBytes)).Decode(to); err != nil {
		return fmt.Errorf("%s answers %s with something else than was expected: %w", s.Address, path, err)
	}
	return nil
}

func (s Server) get(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%s is no address: %w", s.Address, err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := s.Client.Do(request)
	if err != nil {
		return nil, err
	}
	switch {
	case response.StatusCode == http.StatusOK:
		return response.Body, nil
	case response.StatusCode == http.StatusNotFound && path == historyPath:
		err = fmt.Errorf("%s: %w", s.Address, ErrNoConfig)
	default:
		err = fmt.Errorf("%s answers %s with %s", s.Address, path, response.Status)
	}
	return nil, errors.Join(err, response.Body.Close())
}
