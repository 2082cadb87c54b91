package canopyv1_test

import (
	"bytes"
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

const (
	root    = "../../.."
	example = root + "/examples/shim-go/canopyv1"
)

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

// The example shim, which imports nothing of this repository, has the same files.
func TestGenerated_ExampleHasTheSame(t *testing.T) {
	files, err := filepath.Glob("*.pb.go")
	assert.NilError(t, err)
	assert.Equal(t, len(files), 2)
	for _, name := range files {
		own, err := os.ReadFile(name)
		assert.NilError(t, err)
		copied, err := os.ReadFile(filepath.Join(example, name))
		assert.NilError(t, err)
		assert.Assert(t, bytes.Equal(own, copied), `%s: run "make proto"`, name)
	}
}
