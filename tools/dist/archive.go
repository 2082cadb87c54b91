package main

import (
	"io"
	"path"
	"path/filepath"
)

// archive packs the programs of a product with their documents.
func (r *release) archive(p product, arch string) error {
	name := p.name + "_" + r.version + "_linux_" + arch
	var entries []entry
	add := func(dir, source string, mode int64) {
		entries = append(entries, entry{path.Join(name, dir, filepath.Base(source)), source, mode})
	}
	for _, program := range p.programs {
		add("", r.program(program, arch), 0o755)
	}
	for _, file := range []string{"LICENSE", "NOTICE", "README.md", "docs/INSTALL.md"} {
		add("", filepath.Join(r.root, file), 0o644)
	}
	add("", r.licensesFile(p), 0o644)
	pages, err := r.pages(p)
	if err != nil {
		return err
	}
	for _, page := range pages {
		add("man/man1", page, 0o644)
	}
	if p.tests != nil {
		for _, program := range p.programs {
			for _, shell := range []string{"bash", "fish", "zsh"} {
				add("completions", r.completion(program, shell), 0o644)
			}
		}
	}
	return gzipped(r.finished("%s.tar.gz", name), func(w io.Writer) error { return writeTar(w, entries, r.time) })
}
