package deploy

import (
	"os"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"gotest.tools/v3/assert"
)

// BuildKit parses the Dockerfile and has no warning; what it would run is not run here.
func TestDockerfile_HasNoWarnings(t *testing.T) {
	f, err := os.Open("../../deploy/Dockerfile")
	assert.NilError(t, err)
	defer f.Close()
	file, err := parser.Parse(f)
	assert.NilError(t, err)
	assert.Equal(t, len(file.Warnings), 0, "%v", file.Warnings)
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string,
		at []parser.Range) {
		t.Errorf("%s: %s: %v", rule, message, at)
	}})
	stages, _, err := instructions.Parse(file.AST, lint)
	assert.NilError(t, err)

	names := map[string]bool{"scratch": true, "golang:1.26-bookworm": true}
	for _, stage := range stages {
		assert.Assert(t, names[stage.BaseName], "%s begins with %s, which is no earlier stage", stage.Name, stage.BaseName)
		names[stage.Name] = true
		for _, command := range stage.Commands {
			if from, ok := command.(*instructions.CopyCommand); ok && from.From != "" {
				assert.Assert(t, names[from.From], "%s copies from %s, which is no earlier stage", stage.Name, from.From)
			}
		}
	}
	for _, image := range []string{"canopy", "canopy-shim-kubernetes", "canopy-kubernetes"} {
		assert.Assert(t, names[image], "there is no image %s", image)
	}
}
