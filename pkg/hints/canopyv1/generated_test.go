package canopyv1_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
)

const root = "../../.."

// The generated files are of hints.proto as it is.
func TestGenerated_IsUpToDate(t *testing.T) {
	out := filepath.Join(t.TempDir(), "descriptor")
	c := exec.Command("protoc", "--descriptor_set_out="+out, "pkg/hints/canopyv1/hints.proto")
	c.Dir = root
	text, err := c.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("protoc is not installed")
	}
	assert.NilError(t, err, string(text))
	b, err := os.ReadFile(out)
	assert.NilError(t, err)
	var set descriptorpb.FileDescriptorSet
	assert.NilError(t, proto.Unmarshal(b, &set))
	generated := protodesc.ToFileDescriptorProto(canopyv1.File_pkg_hints_canopyv1_hints_proto)
	assert.Assert(t, proto.Equal(set.File[0], generated), `hints.proto has changed: run "make proto"`)
}
