package runtimes

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

const labelTag = "kubernetes.io/label/" + BoundTag

func TestWish(t *testing.T) {
	type tags = map[string]string
	for _, test := range []struct {
		ask, app tags
		want     time.Duration
		err      string
	}{
		{nil, nil, 0, ""},
		{tags{BoundTag: "90m"}, nil, 90 * time.Minute, ""},
		{nil, tags{BoundTag: "90m"}, 90 * time.Minute, ""},
		{tags{BoundTag: "1s"}, tags{BoundTag: "90m"}, time.Second, ""},
		{tags{labelTag: "87600h"}, nil, configs.MaxRunTime, ""},
		{tags{BoundTag: "1h", labelTag: "2h"}, nil, time.Hour, ""},
		{tags{BoundTag: ""}, tags{BoundTag: "1h"}, 0, `tag canopy.scheduler/max-run-time is "": it must be a duration`},
		{tags{BoundTag: "999ms"}, nil, 0, `is "999ms"`},
		{tags{BoundTag: "87600h1s"}, nil, 0, `is "87600h1s"`},
		{tags{BoundTag: "-1h"}, nil, 0, `is "-1h"`},
		{tags{BoundTag: "3600"}, nil, 0, "from 1s to 87600h, such as 90m"},
		{tags{labelTag: "1d"}, nil, 0, "tag kubernetes.io/label/canopy.scheduler/max-run-time"},
		{nil, tags{BoundTag: "soon"}, 0, "the application: tag"},
		{tags{BoundTag: strings.Repeat("9", 1000)}, nil, 0, strings.Repeat("9", 64) + `..."`},
	} {
		wish, err := Wish(test.ask, test.app)
		assert.Equal(t, wish, test.want, "%v %v", test.ask, test.app)
		if test.err == "" {
			assert.NilError(t, err)
			continue
		}
		assert.ErrorContains(t, err, test.err)
		var tagError *TagError
		assert.Assert(t, errors.As(err, &tagError))
	}
}

func TestBoundOf(t *testing.T) {
	for _, test := range []struct{ wish, byDefault, max, want time.Duration }{
		{0, 0, 0, 0},
		{5, 0, 0, 5},
		{0, 3, 0, 3},
		{5, 3, 0, 5},
		{0, 0, 4, 4}, // nothing runs longer than the maximum
		{0, 9, 4, 4},
		{5, 0, 4, 4},
		{2, 3, 4, 2},
	} {
		s := configs.RunTime{Default: test.byDefault, Max: test.max}
		assert.Equal(t, BoundOf(test.wish, &s), test.want, "%+v", test)
	}
}

func TestReadStart(t *testing.T) {
	now := time.Unix(1000, 0)
	for text, want := range map[string]int64{"0": 0, "60": 60, "1000": 1000} {
		at, err := readStart(map[string]string{StartTag: text}, now)
		assert.NilError(t, err)
		assert.Equal(t, at.Time().Unix(), want)
	}
	for _, text := range []string{"", "-1", "1001", "yesterday", "1.5", "99999999999999999999"} {
		at, err := readStart(map[string]string{StartTag: text}, now)
		assert.ErrorContains(t, err, "a time in seconds since 1970 that is not in the future", text)
		assert.Assert(t, at.IsZero())
	}
}
