package webservice

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// rulesCache keeps the placement rules of the last requested generation: reading a large configuration takes long.
type rulesCache struct {
	mu         sync.Mutex
	generation *reload.Generation
	rules      map[string][]dao.PlacementRule // by partition
}

// get is the placement rules of a generation. Read-only.
func (c *rulesCache) get(ctx context.Context, g *reload.Generation,
	load func(context.Context, []byte) (*configs.Config, validation.Problems)) (map[string][]dao.PlacementRule, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation == g {
		return c.rules, nil
	}
	conf, problems := load(ctx, []byte(g.Text))
	if conf == nil {
		return nil, fmt.Errorf("generation %d, which is in force, cannot be read: %w", g.Number, problems)
	}
	rules := map[string][]dao.PlacementRule{}
	for _, p := range conf.Partitions {
		rules[p.Name] = dao.NewPlacementRules(p.PlacementRules, placement.RecoveryQueue)
	}
	c.generation, c.rules = g, rules
	return rules, nil
}

// placementRules lists the placement rules of a partition, in their order (OBS-100).
func (s *service) placementRules(r *http.Request) (any, error) {
	name, err := parameter(r, "partition")
	if err != nil {
		return nil, err
	}
	all, err := s.rules.get(r.Context(), s.opt.Reloads.Current(), s.load)
	if err != nil {
		return nil, err
	}
	rules, ok := all[name]
	if !ok {
		return nil, notFound("Partition")
	}
	return rules, nil
}
