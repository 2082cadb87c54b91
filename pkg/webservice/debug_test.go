package webservice_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

var debugPaths = []string{
	"/debug/stack", "/debug/pprof/", "/debug/pprof/heap?gc=1", "/debug/pprof/goroutine?debug=2", "/debug/pprof/allocs",
	"/debug/pprof/block",
	"/debug/pprof/mutex", "/debug/pprof/threadcreate", "/debug/pprof/cmdline", "/debug/pprof/symbol?0x1",
}

func TestDebug_ServedWithTheOptionOnly(t *testing.T) {
	c := startCluster(t, clusterYAML)
	for _, path := range debugPaths {
		w := request(c, webservice.Options{Access: webservice.Access{Debug: true}}, http.MethodGet, path)
		assert.Equal(t, w.Code, http.StatusOK, path)
		assert.Assert(t, w.Body.Len() > 0, path)
		assert.Equal(t, w.Header().Get("X-Content-Type-Options"), "nosniff", path)
		w = request(c, webservice.Options{Access: webservice.Access{DebugOption: "--debug"}}, http.MethodGet, path)
		plain, _, _ := strings.Cut(path, "?")
		wantAnswer(t, w, http.StatusNotFound, errorBody(404, plain+" is served only with --debug"))
	}
	w := request(c, webservice.Options{Access: webservice.Access{Debug: true}}, http.MethodGet, "/debug/stack")
	assert.Assert(t, strings.Contains(w.Body.String(), "TestDebug_ServedWithTheOptionOnly"), w.Body)
	assert.Assert(t, strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"))
	for from, to := range map[string]string{"stack": "../../debug/stack", "fullstatedump": "../../debug/fullstatedump"} {
		w := fetch(c, "/ws/v1/"+from)
		assert.Equal(t, w.Code, http.StatusMovedPermanently)
		assert.Equal(t, w.Header().Get("Location"), to)
	}
	pc, _, _, _ := runtime.Caller(0)
	w = request(c, webservice.Options{Access: webservice.Access{Debug: true}}, http.MethodGet,
		fmt.Sprintf("/debug/pprof/symbol?0x%x+zz", pc))
	assert.Assert(t, strings.Contains(w.Body.String(), "TestDebug_ServedWithTheOptionOnly"), w.Body)
}

func TestDebug_BadInput(t *testing.T) {
	c := startCluster(t, clusterYAML)
	for path, want := range map[string]int{
		"/debug/pprof/none": 404, "/debug/pprof/heap?debug=3": 400, "/debug/pprof/heap?debug=x": 400,
		"/debug/pprof/heap?debug=-1":     400,
		"/debug/pprof/profile?seconds=0": 400, "/debug/pprof/profile?seconds=301": 400, "/debug/pprof/trace?seconds=x": 400,
		"/debug/none": 404,
	} {
		assert.Equal(t, request(c, webservice.Options{Access: webservice.Access{Debug: true}}, http.MethodGet, path).Code,
			want, path)
	}
	r := httptest.NewRequest(http.MethodPost, "/debug/pprof/symbol", strings.NewReader(strings.Repeat("0x1+", 1<<20)))
	w := httptest.NewRecorder()
	webservice.Handler(c, webservice.Options{Access: webservice.Access{Debug: true}}).ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusRequestEntityTooLarge)
}
