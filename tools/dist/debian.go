package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

const maintainer = "The Canopy authors <canopy-scheduler@users.noreply.github.com>"

// debian makes the Debian package of a product from deploy/debian.
func (r *release) debian(p product, arch string) error {
	contents, err := r.debianFiles(p, arch)
	if err != nil {
		return err
	}
	version := debianVersion(r.version, r.time)
	script := func(name string) string { return filepath.Join(r.root, "deploy/debian", p.debian.folder, name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: p.name, Arch: arch, Platform: "linux", Version: version, VersionSchema: "none", MTime: r.time,
		Section: "admin", Priority: "optional", Maintainer: maintainer, Homepage: homepage,
		Description: p.summary + "\n" + p.debian.description,
		Overridables: nfpm.Overridables{
			Depends:  p.debian.depends,
			Suggests: p.debian.suggests,
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm"),
			},
		},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	return create(r.finished("%s_%s_%s.deb", p.name, version, arch), func(w io.Writer) error {
		return deb.Default.Package(info, w)
	})
}

// debianFiles returns what the package installs.
func (r *release) debianFiles(p product, arch string) (files.Contents, error) {
	var contents files.Contents
	add := func(source, to string, mode os.FileMode, kind string) {
		contents = append(contents, &files.Content{
			Source: source, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time},
		})
	}
	// Debian wants documents compressed, but the copyright.
	compressed := func(source, to string) error {
		z := filepath.Join(r.work, p.name, to)
		add(z, to, 0o644, files.TypeFile)
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		return gzipped(z, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	for _, program := range p.programs {
		add(r.program(program, arch), "/usr/bin/"+program, 0o755, files.TypeFile)
		if p.tests == nil {
			continue
		}
		add(r.completion(program, "bash"), "/usr/share/bash-completion/completions/"+program, 0o644, files.TypeFile)
		add(r.completion(program, "zsh"), "/usr/share/zsh/vendor-completions/_"+program, 0o644, files.TypeFile)
		add(r.completion(program, "fish"), "/usr/share/fish/vendor_completions.d/"+program+".fish", 0o644, files.TypeFile)
	}
	for _, f := range p.debian.files {
		kind := files.TypeFile
		if f.edited {
			kind = files.TypeConfig
		}
		add(filepath.Join(r.root, f.source), f.to, 0o644, kind)
	}
	packaging := filepath.Join(r.root, "deploy/debian")
	documents := "/usr/share/doc/" + p.name + "/"
	add(filepath.Join(packaging, p.debian.folder, "lintian-overrides"), "/usr/share/lintian/overrides/"+p.name, 0o644,
		files.TypeFile)
	add(filepath.Join(packaging, "copyright"), documents+"copyright", 0o644, files.TypeFile)
	add(filepath.Join(r.root, "NOTICE"), documents+"NOTICE", 0o644, files.TypeFile)

	pages, err := r.pages(p)
	if err != nil {
		return nil, err
	}
	changelog := filepath.Join(r.work, p.name, "changelog")
	err = os.WriteFile(changelog, []byte(r.debianChangelog(p)), 0o644)
	if err != nil {
		return nil, err
	}
	for source, to := range map[string]string{
		changelog:                             documents + "changelog.gz",
		r.licensesFile(p):                     documents + "THIRD_PARTY_LICENSES.gz",
		filepath.Join(r.root, "CHANGELOG.md"): documents + "CHANGELOG.md.gz",
	} {
		if err := compressed(source, to); err != nil {
			return nil, err
		}
	}
	for _, page := range pages {
		if err := compressed(page, "/usr/share/man/man1/"+filepath.Base(page)+".gz"); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// debianChangelog returns the one entry that Debian's tools read the version from.
func (r *release) debianChangelog(p product) string {
	return fmt.Sprintf(`%s (%s) unstable; urgency=medium

  * Version %s: CHANGELOG.md.gz has what is new.

 -- %s  %s
`, p.name, debianVersion(r.version, r.time), r.version, maintainer, r.time.Format(time.RFC1123Z))
}
