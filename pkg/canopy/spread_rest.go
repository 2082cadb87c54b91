package canopy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/forward"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// groupPath is where each member shows the group.
const groupPath = "/ws/v1/group"

// groupView is the answer at groupPath.
type groupView struct {
	Member      string               `json:"member"` // that answers
	Coordinator string               `json:"coordinator,omitempty"`
	Generation  uint64               `json:"generation"` // of the configuration, that this member knows
	Round       uint64               `json:"round"`      // of the assignment
	Members     []groupMemberView    `json:"members"`
	Partitions  []groupPartitionView `json:"partitions"`
	StoreError  string               `json:"storeError,omitempty"`
}

type groupMemberView struct {
	Name string `json:"name"`
	GRPC string `json:"grpc,omitempty"`
	HTTP string `json:"http,omitempty"`
	// Leads is what it says that it leads, and Refuses what it could not.
	Leads   []string `json:"leads"`
	Refuses []string `json:"refuses,omitempty"`
}

type groupPartitionView struct {
	Name       string  `json:"name"`
	Assigned   string  `json:"assigned,omitempty"` // missing: to no member yet
	Leader     string  `json:"leader,omitempty"`   // missing: none is known
	Epoch      int64   `json:"epoch,omitempty"`
	Load       float64 `json:"load"`                 // effects a second
	Generation uint64  `json:"generation,omitempty"` // in force, where this member leads the partition
	Removed    bool    `json:"removed,omitempty"`    // from the configuration: it drains
}

// view is the group as this member knows it.
func (m *SpreadMember) view() groupView {
	coordinator := m.election.Status().Leader.Name
	m.mu.Lock()
	defer m.mu.Unlock()
	v := groupView{
		Member: m.self.Name, Coordinator: coordinator, Round: m.state.Assignment.Round,
		Members: []groupMemberView{}, Partitions: []groupPartitionView{},
	}
	if history, _ := m.config.latest(); latestOf(history) != nil {
		v.Generation = latestOf(history).Number
	}
	if m.announced != nil {
		v.StoreError = m.announced.Error()
	}
	loads := map[string]float64{}
	for _, x := range m.state.Members {
		v.Members = append(v.Members, groupMemberView{x.Name, x.GRPC, x.HTTP, append([]string{}, slices.Sorted(maps.Keys(x.Leads))...), x.Refuses})
		for partition, load := range x.Leads {
			loads[partition] = max(loads[partition], load)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.shards)) {
		s := m.shards[name]
		status := s.member.campaign.Status()
		p := groupPartitionView{
			Name: name, Assigned: m.state.Assignment.Members[name], Load: loads[name], Removed: !slices.Contains(m.partitions, name),
		}
		if status.Epoch != 0 {
			p.Leader, p.Epoch = status.Leader.Name, status.Epoch
		}
		if server := s.member.server(); server != nil {
			p.Generation = server.groupGeneration.Load()
		}
		v.Partitions = append(v.Partitions, p)
	}
	return v
}

func (m *SpreadMember) serveGroup(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		writeJSON(w, http.StatusMethodNotAllowed, dao.NewError(http.StatusMethodNotAllowed, "the group is read only"))
		return
	}
	writeJSON(w, http.StatusOK, m.view())
}

func (m *SpreadMember) serveHealth(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, dao.Health{Healthy: true})
}

// serveReady answers /readyz: a member is ready when it can forward (HAP-13).
func (m *SpreadMember) serveReady(w http.ResponseWriter, _ *http.Request) {
	if reason := m.notReady(); reason != "" {
		writeJSON(w, http.StatusServiceUnavailable, dao.Ready{Reason: reason})
		return
	}
	writeJSON(w, http.StatusOK, dao.Ready{Ready: true})
}

// notReady is why this member cannot forward; empty: it can.
func (m *SpreadMember) notReady() string {
	if m.ctx.Err() != nil {
		return "the scheduler is stopping"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Revision == 0 || len(m.shards) == 0 {
		return "the partitions of the group are not known yet"
	}
	for _, name := range slices.Sorted(maps.Keys(m.shards)) {
		if m.shards[name].member.campaign.Status().Epoch == 0 {
			return fmt.Sprintf("no member leads partition %s", name)
		}
	}
	return ""
}

// servePartitions answers with the partitions of all leaders, in one list (HAP-14).
func (m *SpreadMember) servePartitions(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	names := slices.Clone(m.partitions)
	m.mu.Unlock()
	all, handler := []json.RawMessage{}, m.forwarders[httpFront].HTTP()
	for _, name := range names {
		one := r.Clone(r.Context())
		one.Header.Set(forward.PartitionHeader, name)
		one.Header.Del("Accept-Encoding")
		answer := &recordedAnswer{header: http.Header{}}
		handler.ServeHTTP(answer, one)
		var list []json.RawMessage
		if answer.status != http.StatusOK {
			maps.Copy(w.Header(), answer.header)
			w.WriteHeader(answer.status)
			_, _ = w.Write(answer.body.Bytes()) // it names the partition
			return
		}
		if err := json.Unmarshal(answer.body.Bytes(), &list); err != nil {
			writeJSON(w, http.StatusBadGateway, dao.NewError(http.StatusBadGateway, fmt.Sprintf("the leader of partition %s: %v", url.PathEscape(name), err)))
			return
		}
		all = append(all, list...)
	}
	writeJSON(w, http.StatusOK, all)
}

// recordedAnswer keeps an answer.
type recordedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is part of http.ResponseWriter.
func (a *recordedAnswer) Header() http.Header { return a.header }

// WriteHeader is part of http.ResponseWriter.
func (a *recordedAnswer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write is part of http.ResponseWriter.
func (a *recordedAnswer) Write(text []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(text)
}
