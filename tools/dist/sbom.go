package main

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists what a program contains, as CycloneDX, from what the linker has written in it. It has no serial number,
// which would be another one each time.
func (r *release) sbom(p product, program, arch string) error {
	file := r.program(program, arch)
	itself, others, err := contents(file, p.module, r.version)
	if err != nil {
		return err
	}
	sum, err := sha256Of(file)
	if err != nil {
		return err
	}
	bom, err := newBOM(itself, others, program)
	if err != nil {
		return err
	}
	bom.Metadata.Timestamp = r.time.Format(time.RFC3339)
	main := bom.Metadata.Component
	main.Description = p.summary
	main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
	main.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	return create(r.finished("%s_%s_linux_%s.cdx.json", program, r.version, arch), func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	})
}

// newBOM describes a program and the modules in it. Which of them needs which is not known from a program, so all are
// dependencies of the program.
func newBOM(itself module, others []module, program string) (*cdx.BOM, error) {
	var components []cdx.Component
	var refs []string
	for _, m := range others {
		url := packageURL(m)
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, BOMRef: url, PackageURL: url}
		if sum, ok := strings.CutPrefix(m.sum, "h1:"); ok {
			hash, err := base64.StdEncoding.DecodeString(sum)
			if err != nil {
				return nil, err
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
		}
		components = append(components, c)
		refs = append(refs, url)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		Type: cdx.ComponentTypeApplication, Name: program, Version: itself.version,
		BOMRef: program, PackageURL: packageURL(itself),
	}}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: program, Dependencies: &refs}}
	return bom, nil
}

// packageURL returns the purl of a module, with which scanners look for its vulnerabilities.
func packageURL(m module) string {
	return "pkg:golang/" + m.path + "@" + strings.ReplaceAll(m.version, "+", "%2B")
}
