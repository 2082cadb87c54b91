package queuesyaml

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// parseDocument parses the text and returns the top node of its first document without
// aliases (CFG-4, CFG-5). nil: the text is empty, or an error was reported.
func (r *reader) parseDocument(text []byte) *yaml.Node {
	d := yaml.NewDecoder(yieldingReader{bytes.NewReader(text), r.Yield})
	var first, second yaml.Node
	err := d.Decode(&first)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		r.reportSyntaxError(text, err)
		return nil
	}
	switch err := d.Decode(&second); {
	case err == nil && !isNull(second.Content[0]):
		r.Add(nil, positionOf(second.Content[0]), "yaml-documents", "only the first document of the text is read",
			"remove the line --- above and the other documents")
	case err != nil && !errors.Is(err, io.EOF):
		r.Add(nil, validation.Position{}, "yaml-documents",
			"only the first document of the text is read, and the rest is not YAML",
			"remove the rest")
	}
	top := first.Content[0]
	r.dropAliases(top)
	return top
}

// yieldingReader yields for each piece that the parser reads, which it parses before the next one.
type yieldingReader struct {
	io.Reader
	yield func()
}

func (r yieldingReader) Read(to []byte) (int, error) {
	r.yield()
	return r.Reader.Read(to)
}

var (
	syntaxText   = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)
	anchorError  = regexp.MustCompile(`^unknown anchor '(?s:(.*))' referenced$`)
	grammarError = regexp.MustCompile(`^(did not find expected (['<]|key|node)|found undefined tag handle)`)
)

// reportSyntaxError reports a parser error, or its probable cause (CFG-6). The parser stops at the
// first error, and gives no column and sometimes no line.
func (r *reader) reportSyntaxError(text []byte, err error) {
	m := syntaxText.FindStringSubmatch(err.Error())
	if m == nil {
		r.Add(nil, validation.Position{}, "yaml-syntax", err.Error(), "")
		return
	}
	line, message := 1, m[2]
	if n, err := strconv.Atoi(m[1]); err == nil {
		line = n
	}
	if m := likelyMistake(text, line, message); m != nil {
		r.Add(nil, m.Position, "yaml-syntax", m.message, m.hint)
		return
	}
	switch {
	case grammarError.MatchString(message):
		// The parser counts the lines of these errors from zero, and the line may be that
		// of the beginning of the enclosing block.
		if m[1] != "" {
			line++
		}
		r.Add(nil, validation.At(line, 1), "yaml-syntax", message, "look for the mistake around this line")
	case m[1] != "":
		r.Add(nil, validation.At(line, 1), "yaml-syntax", message, "")
	case anchorError.MatchString(message):
		name := anchorError.FindStringSubmatch(message)[1]
		where := offsetPosition(text, bytes.Index(text, []byte("*"+name)))
		r.Add(nil, where, "yaml-alias", "alias "+validation.Quote("*"+name)+" is not allowed", aliasHint)
	default:
		r.Add(nil, offsetPosition(text, bytes.IndexFunc(text, isUnreadableRune)), "yaml-syntax", message, "")
	}
}

func isUnreadableRune(c rune) bool {
	return c == utf8.RuneError || c == 0x7f || c < ' ' && c != '\n' && c != '\t' && c != '\r'
}

func offsetPosition(text []byte, offset int) validation.Position {
	if offset < 0 {
		return validation.At(1, 1)
	}
	before := text[:offset]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return validation.At(1+bytes.Count(before, []byte("\n")), 1+utf8.RuneCount(line))
}

// dropAliases reports the anchors, aliases and merge keys below n, and removes aliases and
// merge keys from the tree, so that the size of the tree is bounded by the size of the
// text (CFG-5).
func (r *reader) dropAliases(n *yaml.Node) {
	if n.Anchor != "" {
		r.Add(nil, positionOf(n), "yaml-alias", "anchor "+validation.Quote("&"+n.Anchor)+" is not allowed", aliasHint)
	}
	group := 1
	if n.Kind == yaml.MappingNode {
		group = 2
	}
	kept := n.Content[:0]
	for i := 0; i+group <= len(n.Content); i += group {
		r.Yield()
		if nodes := n.Content[i : i+group]; !r.isAliasOrMerge(nodes) {
			kept = append(kept, nodes...)
		}
	}
	n.Content = kept
	for _, c := range kept {
		r.dropAliases(c)
	}
}

const aliasHint = "write the value out where it is used"

func (r *reader) isAliasOrMerge(nodes []*yaml.Node) bool {
	for _, n := range nodes {
		switch {
		case n.Kind == yaml.AliasNode:
			r.Add(nil, positionOf(n), "yaml-alias", "alias "+validation.Quote("*"+n.Value)+" is not allowed", aliasHint)
			return true
		case n.Kind == yaml.ScalarNode && n.Tag == "!!merge":
			r.Add(nil, positionOf(n), "yaml-alias", "merge key << is not allowed", aliasHint)
			return true
		}
	}
	return false
}
