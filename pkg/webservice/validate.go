package webservice

import (
	"fmt"
	"io"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// routeValidate serves the validation of a configuration. It changes nothing, and admission controllers of YuniKorn need no
// administrator for it (OBS-98).
func (s *service) routeValidate(mux *router) {
	const path = "/ws/v1/validate-conf"
	if s.opt.Reloads == nil {
		return
	}
	crossOrigin := http.NewCrossOriginProtection()
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		if err := crossOrigin.Check(r); err != nil {
			s.fail(w, r, &failure{status: http.StatusForbidden, reason: err.Error()})
			return
		}
		body, err := s.validate(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.writeJSON(w, r, http.StatusOK, body)
	})
	mux.HandleFunc("OPTIONS "+path, s.options)
}

// validate says whether the text of the body would be accepted. Whatever the text is, the answer is no error.
func (s *service) validate(r *http.Request) (any, error) {
	limit := int64(s.opt.Reloads.MaxBytes())
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, badRequest("the body cannot be read: " + err.Error())
	}
	if int64(len(text)) > limit {
		return dao.Validation{Reason: fmt.Sprintf("the configuration is longer than max-config-bytes (%d)", limit)}, nil
	}
	slot := cpushare.Readers.Acquire()
	defer slot.Release()
	conf, problems := queuesyaml.LoadWith(text, s.opt.Reloads.Bounds())
	v := dao.Validation{Allowed: conf != nil && !problems.HasErrors()}
	if !v.Allowed {
		v.Reason = problems.Errors().Error()
	}
	for _, w := range problems.Warnings() {
		v.Warnings = append(v.Warnings, w.String())
	}
	return v, nil
}
