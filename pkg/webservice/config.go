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

// routeConfig serves the configuration in force and its history.
func (s *service) routeConfig(mux *router) {
	if s.opt.Reloads == nil {
		return
	}
	s.route(mux, "/ws/v1/partition/{partition}/placementrules", s.placementRules)
	s.route(mux, "/ws/v1/config/history", s.generations)
	s.route(mux, "/ws/v1/config/history/{generation}", s.generation)
	mux.HandleFunc("GET /ws/v1/config", s.config)
}

// config answers with the configuration in force: YAML, or JSON if the client accepts that.
func (s *service) config(w http.ResponseWriter, r *http.Request) {
	g := s.opt.Reloads.Current()
	w.Header().Set("ETag", etag(g.Number))
	w.Header().Add("Vary", "Accept")
	kind, format := yamlType, formatYAML
	if wantsJSON(r) {
		kind, format = jsonType, formatJSON
	}
	text, err := s.configCache.get(r.Context(), g, format)
	if err != nil {
		s.fail(w, r, fmt.Errorf("generation %d: %w", g.Number, err))
		return
	}
	s.writePieces(w, r, http.StatusOK, kind, func(yield func([]byte) bool) { yield(text) })
}

// The formats of a configuration.
const (
	formatYAML = iota
	formatJSON
	formatCount
)

// configCache keeps the texts of the last requested generation: encoding a large configuration
// takes as long as parsing it.
type configCache struct {
	mu         sync.Mutex
	generation *reload.Generation
	texts      [formatCount][]byte // nil: not requested yet
}

func (c *configCache) get(ctx context.Context, g *reload.Generation, format int) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != g {
		c.generation, c.texts = g, [formatCount][]byte{}
	}
	if c.texts[format] != nil {
		return c.texts[format], nil
	}
	body, err := dao.NewConfig(g)
	if err != nil {
		return nil, err
	}
	if format == formatJSON {
		c.texts[format] = bytes.Clone(newEncoder().piece(body))
		return c.texts[format], nil
	}
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	var text bytes.Buffer
	e := yaml.NewEncoder(yieldingWriter{&text, slot})
	if err := errors.Join(e.Encode(body), e.Close()); err != nil {
		return nil, err
	}
	c.texts[format] = text.Bytes()
	return c.texts[format], nil
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
		return 0, badRequest(fmt.Sprintf("%q is not the number of a generation", r.PathValue("generation")))
	}
	return n, nil
}
