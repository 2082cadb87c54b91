package webservice

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
)

// slowText takes a second for each piece, and writes so many bytes.
func slowText(all int) func(io.Writer) error {
	return func(to io.Writer) error {
		piece := make([]byte, pageBytes/4)
		for written := 0; written < all; written += len(piece) {
			if _, err := to.Write(piece); err != nil {
				return err
			}
			time.Sleep(time.Second)
		}
		return nil
	}
}

// answerEnd returns how an answer of slow text ends: its status, and the panic that aborts the connection.
func answerEnd(ctx context.Context, all int) (status int, aborted any) {
	s := newService(nil, Options{})
	w := httptest.NewRecorder()
	defer func() { status, aborted = w.Code, recover() }()
	h := s.answersEnded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.write(w, r, http.StatusOK, jsonType, slowText(all))
	}))
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	return 0, nil
}

func TestWrite_EndWithTheRequestAndAfterTheirTime(t *testing.T) {
	for _, c := range []struct {
		name    string
		leaves  time.Duration // after which the client has left; 0: it waits
		bytes   int
		status  int
		aborted any
	}{
		{"an answer in time", 0, 3 * pageBytes, http.StatusOK, nil},
		{"a client that leaves before the first page", 2 * time.Second, pageBytes, http.StatusServiceUnavailable, nil},
		{"a client that leaves while it reads", 6 * time.Second, 3 * pageBytes, http.StatusOK, http.ErrAbortHandler},
		{"an answer that takes too long", 0, 50 * pageBytes, http.StatusOK, http.ErrAbortHandler},
	} {
		t.Run("OBS-103: "+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				if c.leaves > 0 {
					time.AfterFunc(c.leaves, leave)
				}
				status, aborted := answerEnd(ctx, c.bytes)
				assert.Equal(t, status, c.status)
				assert.Equal(t, aborted, c.aborted)
				cpushare.Readers.Acquire(t.Context()).Release() // it has released its slot
			})
		})
	}
}
