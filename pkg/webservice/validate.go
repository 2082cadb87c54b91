package webservice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// validate says whether the text of the body would be accepted. Whatever the text is, the answer is no error. It
// changes nothing, and admission controllers of YuniKorn need no administrator for it (OBS-98).
func (s *service) validate(r *http.Request) (any, error) {
	limit := s.opt.Reloads.MaxBytes()
	text, tooLong, err := s.validations.read(r.Body, limit)
	defer s.validations.release(text)
	if err != nil {
		return nil, err
	}
	if tooLong {
		return dao.Validation{Reason: fmt.Sprintf("the configuration is longer than max-config-bytes (%d)", limit)}, nil
	}
	if len(text) == 0 { // the admission controller asks about what the shim would send
		return dao.Validation{Allowed: true,
			Warnings: []string{"an empty text from a resource manager means the default configuration"}}, nil
	}
	conf, problems := s.load(r.Context(), text)
	v := dao.Validation{Allowed: conf != nil && !problems.HasErrors()}
	if !v.Allowed {
		v.Reason = problems.Errors().Error()
	}
	for _, w := range problems.Warnings() {
		v.Warnings = append(v.Warnings, w.String())
	}
	return v, nil
}

// load reads a text as queuesyaml.LoadWith does, in a slot for readers.
func (s *service) load(ctx context.Context, text []byte) (*configs.Config, validation.Problems) {
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	bounds := s.opt.Reloads.Bounds()
	bounds.Yield = slot.Yield
	return queuesyaml.LoadWith(text, bounds)
}

// validations bounds the texts that are validated at the same time: any client may send them.
type validations struct{ held atomic.Int64 } // bytes

// textsAtOnce bounds how many of the longest texts are held at the same time.
const textsAtOnce = 4

// read reads a text of at most limit bytes. It counts as held until release is called with it, also after an error.
func (v *validations) read(body io.Reader, limit int) (text []byte, tooLong bool, err error) {
	chunk := make([]byte, 32<<10)
	for {
		n, err := body.Read(chunk)
		text = append(text, chunk[:n]...)
		held := v.held.Add(int64(n))
		switch {
		case len(text) > limit:
			return text, true, nil
		case n > 0 && held > textsAtOnce*int64(limit): // what is held already may end
			return text, false,
				refusal(http.StatusServiceUnavailable, "too many configurations are validated at the same time: try again")
		case errors.Is(err, io.EOF):
			return text, false, nil
		case err != nil:
			return text, false, badRequest("the body cannot be read: %v", err)
		}
	}
}

func (v *validations) release(text []byte) { v.held.Add(-int64(len(text))) }
