package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// ErrNoConfig is the error of a server without the REST path of the configuration history.
var ErrNoConfig = errors.New("the server does not serve its configuration")

// Server is a client of the REST API of a running server.
type Server struct {
	Address string // host:port
	Client  *http.Client
}

// maxAnswerBytes bounds the body of a response: many times that of a cluster with 100,000 applications.
const maxAnswerBytes = 1 << 30

// Config reads the configuration in force. ErrNoConfig: the server is too old.
func (s Server) Config(ctx context.Context, o queuesyaml.Options) (*configs.Config, error) {
	var all []struct {
		Number uint64 `json:"generation"`
		Active bool   `json:"active"`
	}
	if _, err := s.read(ctx, historyPath, &all); err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.Active {
			return s.generation(ctx, g.Number, o)
		}
	}
	return nil, fmt.Errorf("%s: %w", s.Address, ErrNoConfig)
}

// generation reads the text of a generation. The document at /ws/v1/config cannot be used: it is
// completed by the server, and has keys that are not legal in queues.yaml (CFG-121).
func (s Server) generation(ctx context.Context, n uint64, o queuesyaml.Options) (*configs.Config, error) {
	var g struct {
		Text string `json:"text"`
	}
	if _, err := s.read(ctx, fmt.Sprintf("%s/%d", historyPath, n), &g); err != nil {
		return nil, err
	}
	text := []byte(g.Text)
	if len(text) == 0 {
		text = queuesyaml.Default()
	}
	conf, problems := queuesyaml.LoadWith(text, o)
	if conf == nil {
		return nil, fmt.Errorf("%s: the configuration in force cannot be read: %w", s.Address, problems.Errors())
	}
	return conf, nil
}

// historyPath lists the generations; historyPath/N has the text of generation N (CFG-122).
const historyPath = "/ws/v1/config/history"

// NodeCapacity reads what the nodes of each partition have together, by partition and resource.
func (s Server) NodeCapacity(ctx context.Context) (map[string]map[string]resources.Quantity, error) {
	var all []struct {
		Name     string `json:"name"`
		Capacity struct {
			Capacity map[string]resources.Quantity `json:"capacity"`
		} `json:"capacity"`
	}
	if _, err := s.read(ctx, "/ws/v1/partitions", &all); err != nil {
		return nil, err
	}
	out := map[string]map[string]resources.Quantity{}
	for _, p := range all {
		out[p.Name] = p.Capacity.Capacity
	}
	return out, nil
}

// State reads the state of partitions. A wanted partition that the server does not have is an
// error: its state is unknown, which is not the same as empty. Other partitions are read if
// the server has them: a draining partition may be configured again.
func (s Server) State(ctx context.Context, wanted, others []string) (State, error) {
	var have []struct {
		Name string `json:"name"`
	}
	if _, err := s.read(ctx, "/ws/v1/partitions", &have); err != nil {
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

// restQueue has the fields of a queue in REST that are read here.
type restQueue struct {
	Name      string                        `json:"queuename"`
	Leaf      *bool                         `json:"isLeaf"` // nil: the field is missing
	Managed   *bool                         `json:"isManaged"`
	Allocated map[string]resources.Quantity `json:"allocatedResource"`
	Children  []restQueue                   `json:"children"`

	Max             map[string]resources.Quantity `json:"maxResource"`
	Guaranteed      map[string]resources.Quantity `json:"guaranteedResource"`
	MaxApplications uint64                        `json:"maxRunningApps"`
	Properties      map[string]string             `json:"properties"`
	QuotaTags       []string                      `json:"quotaTags"`
	QuotaViolation  *struct {
		Since int64 `json:"since"` // nanoseconds
	} `json:"quotaViolation"`
}

func (s Server) partition(ctx context.Context, name string) (*Partition, error) {
	base := "/ws/v1/partition/" + url.PathEscape(name)
	var root restQueue
	now, err := s.read(ctx, base+"/queues", &root)
	if err != nil {
		return nil, err
	}
	p := NewPartition()
	p.addQueue(&root, now)
	var apps []struct {
		ID     string   `json:"applicationID"`
		Queue  string   `json:"queueName"`
		User   string   `json:"user"`
		Groups []string `json:"groups"`

		Requests    []restWorkload `json:"requests"`
		Allocations []restWorkload `json:"allocations"`
	}
	if _, err := s.read(ctx, base+"/applications/active", &apps); err != nil {
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
		if _, err := s.read(ctx, base+"/usage/"+kind, &all); err != nil {
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

// restWorkload has the fields of an ask or an allocation in REST.
type restWorkload struct {
	Class    string                        `json:"priorityClass"`
	Resource map[string]resources.Quantity `json:"resource"`
}

// restUsage has the fields of the usage of a user or a group in REST.
type restUsage struct {
	User   string          `json:"userName"`
	Group  string          `json:"groupName"`
	Queues *restQueueUsage `json:"queues"`
}

// restQueueUsage is the usage of a user or a group in a queue and below it.
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

// addQueue adds a queue as it was at the time now of the server.
func (p *Partition) addQueue(q *restQueue, now time.Time) {
	if q.Leaf != nil {
		p.Leaf[q.Name] = *q.Leaf
	}
	p.Allocated[q.Name] = q.Allocated
	if q.Leaf != nil && *q.Leaf && q.Managed != nil && !*q.Managed {
		p.Dynamic[q.Name] = DynamicLeaf{configs.ChildTemplate{
			MaxApplications: q.MaxApplications, Max: resources.LimitFromMap(q.Max),
			Guaranteed: resources.GuaranteeFromMap(q.Guaranteed),
			Settings:   configs.ReadSettings(q.Properties),
		}, q.QuotaTags}
	}
	if v := q.QuotaViolation; v != nil && !now.IsZero() {
		p.AboveMax[q.Name] = now.Sub(time.Unix(0, v.Since)).Truncate(time.Second)
	}
	for i := range q.Children {
		p.addQueue(&q.Children[i], now)
	}
}

// read decodes an answer. now is the time of the server, whose clock may be another one: to the second, and zero if it
// says none.
func (s Server) read(ctx context.Context, path string, to any) (now time.Time, err error) {
	response, err := s.get(ctx, path)
	if err != nil {
		return now, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err == nil {
		err = answer.Decode(text, to)
	}
	if err != nil {
		return now, fmt.Errorf("%s answers %s with an unexpected body: %w", s.Address, path, err)
	}
	now, _ = http.ParseTime(response.Header.Get("Date"))
	return now, nil
}

func (s Server) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%s is not an address: %w", s.Address, err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := s.Client.Do(request)
	if err != nil {
		return nil, err
	}
	switch {
	case response.StatusCode == http.StatusOK:
		return response, nil
	case response.StatusCode == http.StatusNotFound && path == historyPath:
		err = fmt.Errorf("%s: %w", s.Address, ErrNoConfig)
	default:
		err = fmt.Errorf("%s answers %s with %s", s.Address, path, response.Status)
	}
	return nil, errors.Join(err, response.Body.Close())
}
