package etcdprocess

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Build builds etcd into a directory, and returns the path of the program. The version is that of
// test/etcdserver/go.mod. The first build on a machine downloads and compiles for minutes, the others link for seconds.
func Build(ctx context.Context, dir string) (program string, err error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("etcd cannot be built: the source of this package is not known")
	}
	program = filepath.Join(dir, "etcd")
	module := filepath.Join(filepath.Dir(file), "..", "..", "etcdserver")
	build := exec.CommandContext(ctx, "go", "build", "-C", module, "-o", program, "go.etcd.io/etcd/server/v3")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("etcd cannot be built: %w\n%s", err, text)
	}
	return program, nil
}
