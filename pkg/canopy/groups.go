package canopy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

// groupLeader is the leader of a group as its key in etcd shows it.
type groupLeader struct {
	partitions []string // that the group serves; empty: all
	MemberInfo
}

// groupName names the group that serves some partitions, for its keys in etcd: members with the same partitions are of
// the same group. Empty: the group serves all.
func groupName(partitions []string) string {
	names := slices.Sorted(slices.Values(partitions))
	for i, name := range names {
		names[i] = url.PathEscape(name) // which has no comma
	}
	return strings.Join(slices.Compact(names), ",")
}

// parseLeader reads the leader's key of the group with a name. A value of another program has no addresses.
func parseLeader(name string, epoch int64, value []byte) (out groupLeader) {
	for escaped := range strings.SplitSeq(name, ",") {
		if partition, err := url.PathUnescape(escaped); err == nil && name != "" {
			out.partitions = append(out.partitions, partition)
		}
	}
	var l election.Leader
	_ = json.Unmarshal(value, &l)
	out.MemberInfo = memberInfo(l, epoch)
	return out
}

// serves reports whether the group serves one of some partitions; none means all.
func (l *groupLeader) serves(partitions []string) bool {
	return len(partitions) == 0 || len(l.partitions) == 0 ||
		slices.ContainsFunc(l.partitions, func(p string) bool { return slices.Contains(partitions, p) })
}

// groups knows which partitions are served here, and where the others are (HA-12, HA-13).
type groups struct {
	own    []string                                     // empty: all
	others atomic.Pointer[[]groupLeader]                // as last read
	read   func(context.Context) ([]groupLeader, error) // nil: the process leads no group
}

// openGroups reads the leaders of the other groups. A group that was there first and serves a partition of this one is
// an error. Of two such groups the one with the later epoch sees the key of the other, which is there until the other's
// term is over: so no partition has two leaders.
func (o *Options) openGroups(ctx context.Context, term *serverTerm) (*groups, error) {
	g := &groups{own: o.Config.Partitions}
	g.others.Store(new([]groupLeader))
	if term == nil || term.stores == nil {
		return g, nil
	}
	g.read = func(ctx context.Context) ([]groupLeader, error) { return term.stores.leaders(ctx, term.Epoch()) }
	all, err := g.read(ctx)
	if err != nil {
		return nil, o.refused("HA.Etcd", err)
	}
	for _, l := range all {
		if l.Epoch < term.Epoch() && l.serves(g.own) {
			return nil, o.refused("Config.Partitions", fmt.Errorf("another group serves a partition of this one: %s, "+
				"with its leader %s%s", cmp.Or(strings.Join(l.partitions, ", "), "all"), l.Name, l.addresses()))
		}
	}
	g.others.Store(&all)
	return g, nil
}

func (l *groupLeader) addresses() string {
	var all []string
	for _, x := range []struct{ name, at string }{{"gRPC", l.GRPC}, {"HTTP", l.HTTP}} {
		if x.at != "" {
			all = append(all, x.name+" "+x.at)
		}
	}
	return " at " + strings.Join(all, ", ")
}

// follow reads the leaders of the other groups again and again until ctx ends. What was read last stays while etcd does
// not answer.
func (g *groups) follow(ctx context.Context, every time.Duration, log *zap.Logger) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		all, err := g.read(ctx)
		if err != nil {
			log.Debug("the leaders of the other groups are not read", zap.Error(err))
			continue
		}
		g.others.Store(&all)
	}
}

// elsewhere returns what a refusal says of a partition that is not served here: where its group is, or what is served
// here. Empty: all partitions are.
func (g *groups) elsewhere(partition string) string {
	if len(g.own) == 0 {
		return ""
	}
	for _, l := range *g.others.Load() {
		if slices.Contains(l.partitions, partition) && !slices.Contains(g.own, partition) {
			return " (it is served by another group" + l.addresses() + ")"
		}
	}
	return " (served here: " + strings.Join(g.own, ", ") + ")"
}
