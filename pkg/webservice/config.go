package webservice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// config answers with the configuration in force: YAML, or JSON if the client accepts that.
func (s *service) config(w http.ResponseWriter, r *http.Request) {
	g := s.opt.Reloads.Current()
	w.Header().Set("ETag", etag(g.Number))
	w.Header().Add("Vary", "Accept")
	if wantsJSON(r) {
		body, err := s.configs.body(g)
		s.answer(w, r, http.StatusOK, body, err)
		return
	}
	text, err := s.configs.text(r.Context(), g)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeText(w, r, yamlType, text)
}

// configCache keeps the last requested generation: reading a large configuration takes long, and so does encoding it as
// YAML.
type configCache struct {
	mu         sync.Mutex
	generation *reload.Generation
	json       *dao.Config // nil: not requested yet
	yaml       []byte      // nil: not requested yet
}

// body returns the configuration of a generation. Read-only.
func (c *configCache) body(g *reload.Generation) (*dao.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepOnly(g)
	if c.json == nil {
		config, err := dao.NewConfig(g, true)
		if err != nil {
			return nil, fmt.Errorf("generation %d: %w", g.Number, err)
		}
		c.json = config
	}
	return c.json, nil
}

// keepOnly forgets other generations. Requires: the caller holds c.mu.
func (c *configCache) keepOnly(g *reload.Generation) {
	if c.generation != g {
		c.generation, c.json, c.yaml = g, nil, nil
	}
}

// text returns the configuration of a generation as YAML. Read-only.
func (c *configCache) text(ctx context.Context, g *reload.Generation) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepOnly(g)
	if c.yaml != nil {
		return c.yaml, nil
	}
	config, err := dao.NewConfig(g, false)
	if err != nil {
		return nil, fmt.Errorf("generation %d: %w", g.Number, err)
	}
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	var text bytes.Buffer
	e := yaml.NewEncoder(yieldingWriter{&text, slot})
	if err := errors.Join(e.Encode(config), e.Close()); err != nil {
		return nil, fmt.Errorf("generation %d: %w", g.Number, err)
	}
	c.yaml = text.Bytes()
	return c.yaml, nil
}

// yieldingWriter yields for each piece that an encoder writes.
type yieldingWriter struct {
	io.Writer
	slot *cpushare.Slot
}

func (w yieldingWriter) Write(text []byte) (int, error) {
	w.slot.Yield()
	return w.Writer.Write(text)
}

const yamlType = "application/x-yaml"

// wantsJSON reports whether the client accepts JSON by name.
func wantsJSON(r *http.Request) bool { return accepts(r, "application/json") }

// accepts reports whether the Accept header names one of these types.
func accepts(r *http.Request, types ...string) bool {
	for _, kind := range strings.Split(r.Header.Get("Accept"), ",") {
		name, _, _ := strings.Cut(kind, ";")
		if slices.Contains(types, strings.ToLower(strings.TrimSpace(name))) {
			return true
		}
	}
	return false
}

// etag is the ETag of a generation.
func etag(generation uint64) string { return fmt.Sprintf("%q", strconv.FormatUint(generation, 10)) }

// generations lists the generations that are kept, the latest first.
func (s *service) generations(*http.Request) (any, error) {
	all := s.opt.Reloads.Generations()
	current := all[len(all)-1]
	out := make([]dao.Generation, 0, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		out = append(out, dao.NewGeneration(all[i], current))
	}
	return out, nil
}

func (s *service) generation(r *http.Request) (any, error) {
	n, err := generationNumber(r)
	if err != nil {
		return nil, err
	}
	g, ok := s.opt.Reloads.Generation(n)
	if !ok {
		return nil, notFound(fmt.Sprintf("Generation %d", n))
	}
	return dao.GenerationDetail{Generation: dao.NewGeneration(g, s.opt.Reloads.Current()), Text: g.Text, Extra: g.Extra,
		Changes: g.Changes}, nil
}

// generationNumber is the number in the path of a request.
func generationNumber(r *http.Request) (uint64, error) {
	n, err := strconv.ParseUint(r.PathValue("generation"), 10, 64)
	if err != nil {
		return 0, badRequest("%q is not the number of a generation", r.PathValue("generation"))
	}
	return n, nil
}
