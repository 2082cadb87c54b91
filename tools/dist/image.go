package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	homepage = "https://github.com/canopy-scheduler/canopy"
	// imageUser is a user and group without a name, and without a right.
	imageUser = "65532:65532"
)

// image makes the image of a product for all architectures, as a tar of an OCI layout. It has what the image of
// deploy/Dockerfile has, and the licences.
//
// It has no certificates of authorities: clients bring theirs, and what the scheduler itself connects to has a flag or
// file for them: --etcd-ca, the setting of ldap, the service account of a pod.
func (r *release) image(p product) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range r.arches {
		img, err := r.imageFor(p, arch)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	dir := filepath.Join(r.work, p.name, "layout")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
	}))
	if err != nil {
		return err
	}
	entries, err := entriesBelow(dir)
	if err != nil {
		return err
	}
	return create(r.finished("%s_%s_image.tar", p.name, r.version), func(w io.Writer) error {
		return writeTar(w, entries, r.time)
	})
}

// imageFor makes the image for one architecture, with a single layer.
func (r *release) imageFor(p product, arch string) (v1.Image, error) {
	entries := []entry{
		{"LICENSE", filepath.Join(r.root, "LICENSE"), 0o644},
		{"NOTICE", filepath.Join(r.root, "NOTICE"), 0o644},
		{"THIRD_PARTY_LICENSES", r.licensesFile(p), 0o644},
		{strings.TrimPrefix(p.image.program, "/"), r.program(p.programs[0], arch), 0o755},
	}
	file := filepath.Join(r.work, p.name, "layer_"+arch+".tar")
	err := create(file, func(w io.Writer) error { return writeTar(w, entries, r.time) })
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromFile(file, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.time}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{
		Layer: layer, History: v1.History{Created: created, CreatedBy: "make dist", Comment: r.version},
	})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture, config.Created = "linux", arch, created
	config.Config = v1.Config{
		User: imageUser, Entrypoint: []string{p.image.program}, Cmd: p.image.args,
		ExposedPorts: map[string]struct{}{p.image.port + "/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title":       p.name,
			"org.opencontainers.image.description": p.summary,
			"org.opencontainers.image.version":     r.version,
			"org.opencontainers.image.created":     r.time.Format("2006-01-02T15:04:05Z07:00"),
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.source":      homepage,
		},
	}
	return mutate.ConfigFile(img, config)
}

// entriesBelow returns the files of a directory in the order of their names.
func entriesBelow(dir string) (entries []entry, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			entries = append(entries, entry{name, filepath.Join(dir, name), 0o644})
		}
		return err
	})
	return entries, err
}
