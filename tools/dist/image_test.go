package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"gotest.tools/v3/assert"
)

// The layout of an image is complete, its layer has the program of the archive, and its configuration is that of the
// Dockerfile.
func TestImage_IsThatOfTheDockerfile(t *testing.T) {
	for _, p := range builtProducts() {
		dir := t.TempDir()
		f, err := os.Open(filepath.Join(distribution(t), p.name+"_"+testVersion+"_image.tar"))
		assert.NilError(t, err)
		untar(t, f, dir)
		assert.NilError(t, f.Close())
		top, err := layout.ImageIndexFromPath(dir)
		assert.NilError(t, err)
		assert.NilError(t, validate.Index(top))
		manifest, err := top.IndexManifest()
		assert.NilError(t, err)
		assert.Equal(t, len(manifest.Manifests), 1)
		assert.Equal(t, manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"], testVersion)
		index, err := top.ImageIndex(manifest.Manifests[0].Digest)
		assert.NilError(t, err)
		images, err := index.IndexManifest()
		assert.NilError(t, err)
		assert.Equal(t, len(images.Manifests), len(architectures))
		stage := dockerfileStage(t, p.name)
		for i, arch := range architectures {
			assert.Equal(t, images.Manifests[i].Platform.String(), "linux/"+arch)
			img, err := index.Image(images.Manifests[i].Digest)
			assert.NilError(t, err)
			config, err := img.ConfigFile()
			assert.NilError(t, err)
			assert.Equal(t, config.OS+"/"+config.Architecture, "linux/"+arch)
			assert.Equal(t, config.Created.Unix(), int64(1700000000))
			assert.Equal(t, config.Config.User, stage.user)
			assert.DeepEqual(t, config.Config.Entrypoint, stage.entrypoint)
			assert.DeepEqual(t, config.Config.Cmd, stage.cmd)
			assert.DeepEqual(t, config.Config.ExposedPorts, map[string]struct{}{stage.port + "/tcp": {}})
			assert.Equal(t, config.Config.Labels["org.opencontainers.image.version"], testVersion)

			layers, err := img.Layers()
			assert.NilError(t, err)
			assert.Equal(t, len(layers), 1)
			content, err := layers[0].Uncompressed()
			assert.NilError(t, err)
			files := t.TempDir()
			untar(t, content, files)
			_, err = io.Copy(io.Discard, content)
			assert.NilError(t, err)
			entries, err := os.ReadDir(files)
			assert.NilError(t, err)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			want := slices.Concat(stage.files, []string{"THIRD_PARTY_LICENSES"})
			slices.Sort(want)
			assert.DeepEqual(t, names, want)
			inImage, err := sha256Of(filepath.Join(files, p.image.program))
			assert.NilError(t, err)
			inArchive, err := sha256Of(filepath.Join(unpacked(t, p, arch), p.programs[0]))
			assert.NilError(t, err)
			assert.Equal(t, inImage, inArchive)
			info, err := os.Stat(filepath.Join(files, p.image.program))
			assert.NilError(t, err)
			assert.Equal(t, info.Mode().Perm(), os.FileMode(0o755))
		}
	}
}

// stage holds the instructions of a stage of a Dockerfile; files has what it copies, by the names in the image.
type stage struct {
	user, port             string
	entrypoint, cmd, files []string
}

// dockerfileStage reads a stage that begins from scratch.
func dockerfileStage(t *testing.T, name string) (s stage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "deploy/Dockerfile"))
	assert.NilError(t, err)
	_, body, found := strings.Cut(string(text), "FROM scratch AS "+name+"\n")
	assert.Assert(t, found, name)
	body, _, _ = strings.Cut(body, "\nFROM ")
	for line := range strings.Lines(body) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "USER":
			s.user = rest
		case "EXPOSE":
			s.port = rest
		case "ENTRYPOINT":
			assert.NilError(t, json.Unmarshal([]byte(rest), &s.entrypoint))
		case "CMD":
			assert.NilError(t, json.Unmarshal([]byte(rest), &s.cmd))
		case "COPY":
			words := strings.Fields(rest)[1:] // without --from
			for _, source := range words[:len(words)-1] {
				name := filepath.Base(source)
				if to := words[len(words)-1]; to != "/" {
					name = filepath.Base(to)
				}
				s.files = append(s.files, name)
			}
		case "":
		default:
			t.Fatalf("the stage %s has %s, which the test does not know", name, instruction)
		}
	}
	return s
}
