package gangs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Virtual placeholders are counted like placeholders, and are neither asks nor allocations: the task groups of the
// application say how many members each of them needs, and these are placed together or not at all (GAN-19).

// Tags of an application.
const (
	VirtualPlaceholdersTag = "canopy.scheduler/virtual-placeholders" // "true": its placeholders are virtual
	TaskGroupsTag          = "yunikorn.apache.org/task-groups"       // the task groups, as YuniKorn's annotation has them
)

// Bounds of what an application may declare.
const (
	maxTaskGroups = 256
	maxMembers    = 1_000_000 // of all task groups together
	maxQuoted     = 64        // bytes of a text that an error quotes
)

// VirtualGroup is a task group whose placeholders are virtual.
type VirtualGroup struct {
	Name         string
	MinMember    int               // how many members are placed together; at least one
	MinResources resources.Amounts // what each of them requests, as declared; empty: not declared
	Topology     Topology          // in which topology domains they are placed; the zero value: in any
}

// ReadVirtual reads the task groups of an application whose placeholders are virtual; nil: they are not (GAN-19). An
// error says what is wrong with the tags; so does a topology without virtual placeholders (GAN-29).
func ReadVirtual(tags map[string]string) ([]VirtualGroup, error) {
	text, ok := tags[VirtualPlaceholdersTag]
	if !ok {
		return nil, refuseTopology(tags)
	}
	virtual, err := strconv.ParseBool(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, fmt.Errorf("tag %s: %q is neither true nor false", VirtualPlaceholdersTag, shortened(text))
	case !virtual:
		return nil, refuseTopology(tags)
	}
	groups, err := readTaskGroups(tags[TaskGroupsTag])
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", TaskGroupsTag, err)
	}
	return groups, nil
}

// sentTaskGroup has the fields of a task group that are read. YuniKorn's annotation has more: the members carry them.
type sentTaskGroup struct {
	Name        string                     `json:"name"`
	MinMember   json.Number                `json:"minMember"`
	MinResource map[string]json.RawMessage `json:"minResource"`
	Topology    json.RawMessage            `json:"topology"`
}

func readTaskGroups(text string) (groups []VirtualGroup, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("virtual placeholders need task groups")
	}
	var sent []sentTaskGroup
	if err := json.Unmarshal([]byte(text), &sent); err != nil {
		return nil, fmt.Errorf("%q is no list of task groups in JSON", shortened(text))
	}
	if len(sent) == 0 || len(sent) > maxTaskGroups {
		return nil, fmt.Errorf("there are %d task groups, from 1 to %d are allowed", len(sent), maxTaskGroups)
	}
	members := 0
	for _, t := range sent {
		g, err := t.read()
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(groups, func(other VirtualGroup) bool { return other.Name == g.Name }) {
			return nil, fmt.Errorf("task group %s is there twice", shortened(g.Name))
		}
		members += g.MinMember
		if members > maxMembers {
			return nil, fmt.Errorf("the task groups need more than %d members", maxMembers)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

func (t *sentTaskGroup) read() (g VirtualGroup, err error) {
	if t.Name == "" {
		return g, errors.New("a task group has no name")
	}
	n, err := strconv.Atoi(t.MinMember.String())
	if err != nil || n < 1 || n > maxMembers {
		return g,
			fmt.Errorf("minMember of task group %s is %q, and not a number from 1 to %d", shortened(t.Name),
				shortened(t.MinMember.String()), maxMembers)
	}
	amounts := map[string]resources.Quantity{}
	for name, text := range t.MinResource {
		name = cmp.Or(map[string]string{"cpu": resources.VCore}[name], name)
		if amounts[name], err = resources.Parse(name, strings.Trim(string(text), `"`)); err != nil {
			return g, fmt.Errorf("minResource of task group %s: %s: %w", shortened(t.Name), shortened(name), err)
		}
	}
	topology, err := readTopology(t.Topology)
	if err != nil {
		return g, fmt.Errorf("topology of task group %s: %w", shortened(t.Name), err)
	}
	return VirtualGroup{Name: t.Name, MinMember: n, MinResources: resources.FromMap(amounts), Topology: topology}, nil
}

// shortened cuts a text that would make a message too long.
func shortened(text string) string {
	if len(text) > maxQuoted {
		return strings.ToValidUTF8(text[:maxQuoted], "") + "..."
	}
	return text
}

// RequestedBy returns the sum of what the members of the groups request, as declared. A sum beyond 64 bits becomes the
// largest number.
func RequestedBy(groups []VirtualGroup) resources.Amounts {
	sum := map[string]resources.Quantity{}
	for _, g := range groups {
		for name, n := range g.MinResources.All() {
			if n > (math.MaxInt64-sum[name])/resources.Quantity(g.MinMember) {
				sum[name] = math.MaxInt64
				continue
			}
			sum[name] += n * resources.Quantity(g.MinMember)
		}
	}
	return resources.FromMap(sum)
}

// Virtual reports whether the placeholders of g are virtual.
func (g *Gang) Virtual() bool { return len(g.spec.Virtual) > 0 }

// Waits reports whether the members of g wait to be placed together: its placeholders are virtual, and have neither
// been replaced nor timed out.
func (g *Gang) Waits() bool { return g.Virtual() && g.live > 0 }

// Topology returns the topology of a task group; nil: it has none.
func (g *Gang) Topology(taskGroup string) *Topology {
	for i := range g.spec.Virtual {
		if v := &g.spec.Virtual[i]; v.Name == taskGroup && v.Topology.Declared() {
			return &v.Topology
		}
	}
	return nil
}

// HasTopology reports whether a task group of g has a topology.
func (g *Gang) HasTopology() bool {
	return slices.ContainsFunc(g.spec.Virtual, func(v VirtualGroup) bool { return v.Topology.Declared() })
}

// RequiresTopology reports whether a task group of g requires one topology domain.
func (g *Gang) RequiresTopology() bool {
	return slices.ContainsFunc(g.spec.Virtual, func(v VirtualGroup) bool { return v.Topology.Requires() })
}

// PlacedTogether reports whether the members of a task group were placed together, here or before they were reported.
func (g *Gang) PlacedTogether(taskGroup string) bool {
	t := g.find(taskGroup)
	return g.Virtual() && t != nil && t.Replaced > 0
}

// MinMember returns how many asks of a task group are placed together; zero: none are, or no longer.
func (g *Gang) MinMember(taskGroup string) int {
	if !g.Virtual() {
		return 0
	}
	if t := g.find(taskGroup); t != nil {
		return t.Live()
	}
	return 0
}

// CountMember adds n to the number of pending asks of a task group, if they wait to be placed together. It reports
// whether they do. If so, a refusal ends: the group of asks has changed.
func (g *Gang) CountMember(taskGroup string, n int) (waits bool) {
	if g.MinMember(taskGroup) == 0 {
		return false
	}
	i := slices.IndexFunc(g.groups, func(t TaskGroup) bool { return t.Name == taskGroup })
	g.members[i] += n
	if g.members[i] < 0 {
		panic("gangs: fewer than no members of task group " + taskGroup)
	}
	g.refusal = ""
	return true
}

// Members returns how many asks of a task group are pending, if they wait to be placed together.
func (g *Gang) Members(taskGroup string) int {
	i := slices.IndexFunc(g.groups, func(t TaskGroup) bool { return t.Name == taskGroup })
	if i < 0 || !g.Waits() {
		return 0
	}
	return g.members[i]
}

// Incomplete returns the first task group that has fewer pending asks than are placed together. ok is false if there is
// none, or nothing waits.
func (g *Gang) Incomplete() (taskGroup string, ok bool) {
	if !g.Waits() {
		return "", false
	}
	for i := range g.groups {
		if g.members[i] < g.groups[i].Live() {
			return g.groups[i].Name, true
		}
	}
	return "", false
}

// Ready reports whether the members of g may be placed together: there are enough of them, and they were not refused.
func (g *Gang) Ready() bool {
	if !g.Waits() || g.refusal != "" {
		return false
	}
	_, incomplete := g.Incomplete()
	return !incomplete
}

// Refuse records why the members could not be placed together.
func (g *Gang) Refuse(reason string) { g.refusal = reason }

// Refusal says why the members could not be placed together at the last attempt; empty: there was none, or something
// has changed since.
func (g *Gang) Refusal() string { return g.refusal }

// Begin begins the timeout with the first member, if the members wait and it has not begun (GAN-22).
func (g *Gang) Begin(now time.Time) {
	if g.Waits() && g.deadline.IsZero() {
		g.deadline = g.spec.deadline(now)
	}
}

// PlaceTogether counts that the members have replaced all virtual placeholders.
func (g *Gang) PlaceTogether() {
	g.endVirtual(func(t *TaskGroup, n int) { t.Replaced += n })
}

// TimeOutVirtual counts that all virtual placeholders have timed out: the members no longer wait for each other.
func (g *Gang) TimeOutVirtual() {
	g.endVirtual(func(t *TaskGroup, n int) { t.TimedOut += n })
}

func (g *Gang) endVirtual(count func(t *TaskGroup, n int)) {
	for i := range g.groups {
		count(&g.groups[i], g.groups[i].Live())
	}
	g.live, g.deadline, g.refusal = 0, time.Time{}, ""
}
