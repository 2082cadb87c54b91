package auth

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/logging"
)

// Neither the level nor the bound on repeated lines hides an audit line (SEC-12).
func TestAudit_IsLoggedAtAnyLevel(t *testing.T) {
	var out bytes.Buffer
	log := logging.New(&out, logging.Options{
		Encoder: zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), Level: zap.NewAtomicLevelAt(zap.ErrorLevel),
		Buffer: 1 << 16, Burst: 1,
	})
	for range 5 {
		Audit(log.Logger,
			Change{Identity: "shim", Peer: "192.0.2.1:5", Action: "register", Object: strings.Repeat("x", 500),
				Err: errors.New("no\nmore")})
	}
	assert.NilError(t, log.Close())
	assert.Equal(t, strings.Count(out.String(), `"msg":"audit","identity":"shim"`), 5, out.String())
	assert.Equal(t, strings.Count(out.String(), "\n"), 5, out.String())
	assert.Assert(t, strings.Contains(out.String(), `"outcome":"refused","result":"no\nmore"`), out.String())
	assert.Assert(t, out.Len() < 5*400)
}
