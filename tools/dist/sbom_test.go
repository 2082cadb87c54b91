package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// bomFile has the fields of a CycloneDX document that scanners read.
type bomFile struct {
	BOMFormat, SpecVersion, SerialNumber string
	Metadata                             struct {
		Timestamp string
		Component struct {
			Ref           string `json:"bom-ref"`
			Name, Version string
			Hashes        []struct{ Alg, Content string }
		}
	}
	Components []struct {
		Ref           string `json:"bom-ref"`
		Name, Version string
		PURL          string
	}
	Dependencies []struct {
		Ref       string
		DependsOn []string
	}
}

// An SBOM names the modules with the versions of go.mod, and the program by its bytes.
func TestSBOM_NamesModulesAndProgram(t *testing.T) {
	for _, p := range builtProducts() {
		for _, arch := range architectures {
			dir := unpacked(t, p, arch)
			for _, program := range p.programs {
				name := program + "_" + testVersion + "_linux_" + arch + ".cdx.json"
				text, err := os.ReadFile(filepath.Join(distribution(t), name))
				assert.NilError(t, err)
				var bom bomFile
				assert.NilError(t, json.Unmarshal(text, &bom))
				assert.Equal(t, bom.BOMFormat+" "+bom.SpecVersion+" "+bom.SerialNumber, "CycloneDX 1.6 ")
				assert.Equal(t, bom.Metadata.Timestamp, "2023-11-14T22:13:20Z")
				main := bom.Metadata.Component
				assert.Equal(t, main.Name+" "+main.Version, program+" "+testVersion)
				sum, err := sha256Of(filepath.Join(dir, program))
				assert.NilError(t, err)
				assert.Equal(t, main.Hashes[0].Content, sum, name)

				versions, refs := map[string]string{}, []string{}
				for _, c := range bom.Components {
					assert.Assert(t, versions[c.Name] == "", "%s is there twice", c.Name)
					assert.Assert(t, !strings.HasPrefix(c.Name, "."), c.Name)
					versions[c.Name] = c.Version
					refs = append(refs, c.Ref)
				}
				assert.Equal(t, bom.Dependencies[0].Ref, main.Ref)
				assert.DeepEqual(t, bom.Dependencies[0].DependsOn, refs)
				for _, m := range []string{"google.golang.org/grpc", "google.golang.org/protobuf", "golang.org/x/net"} {
					want := command(t, "go", "list", "-C", filepath.Join(repository, p.module), "-m", "-f", "{{.Version}}", m)
					assert.Equal(t, versions[m], strings.TrimSpace(want), m)
				}
				assert.Assert(t, versions["stdlib"] != "")
				if p.module != "." {
					assert.Equal(t, versions[ourModule], testVersion)
				}
			}
		}
	}
}

func TestNewBOM_ReplacedAndOddModules(t *testing.T) {
	itself, others := modulesOf(&debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Path: "a.org/main", Version: "v1.0.0", Sum: "h1:AAAA"},
		Deps: []*debug.Module{
			{Path: "b.org/B", Version: "v2.0.0+incompatible", Sum: "h1:AQID"},
			{Path: "c.org/local", Version: "v1.0.0", Replace: &debug.Module{Path: "../standin"}},
			{Path: ourModule, Version: "v0.0.0", Replace: &debug.Module{Path: "../.."}},
			{Path: "d.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "e.org/new", Version: "v3.0.0", Sum: "h1:AQID"}},
		},
	}, "kubernetes/shim", "v9")
	bom, err := newBOM(itself, others, "x")
	assert.NilError(t, err)
	var got []string
	for _, c := range *bom.Components {
		line := c.PackageURL
		if c.Hashes != nil {
			line += " " + (*c.Hashes)[0].Value
		}
		got = append(got, line)
	}
	assert.DeepEqual(t, got, []string{
		"pkg:golang/stdlib@1.26.0", "pkg:golang/a.org/main@v1.0.0 000000",
		"pkg:golang/b.org/B@v2.0.0%2Bincompatible 010203",
		"pkg:golang/github.com/canopy-scheduler/canopy/kubernetes/standin@v9",
		"pkg:golang/github.com/canopy-scheduler/canopy@v9", "pkg:golang/e.org/new@v3.0.0 010203",
	})
	assert.Equal(t, bom.Metadata.Component.PackageURL, "pkg:golang/github.com/canopy-scheduler/canopy/kubernetes/shim@v9")
	_, err = newBOM(itself, []module{{"b.org/B", "v2.0.0", "h1:?"}}, "x")
	assert.ErrorContains(t, err, "illegal base64 data")
}
