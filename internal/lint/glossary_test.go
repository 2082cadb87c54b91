package lint

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"gotest.tools/v3/assert"
)

// The words that docs/GLOSSARY.md refuses, in names, comments and documents.

// A refusedWord is a row of the table of refused words.
type refusedWord struct {
	word    string   // lower case; several words are separated by spaces
	instead string   // what to write
	except  []string // names, or phrases of a text, in which it is allowed
	names   bool     // it is refused as part of a name
	text    *regexp.Regexp
}

// glossaryHeading is the heading of the table of refused words.
const glossaryHeading = "## Words that are not used"

// refusedWords reads the table: "| `word`, `word` | instead | names, text | `exception` |".
func refusedWords(text string) (words []refusedWord, problems []string) {
	_, table, ok := strings.Cut(text, glossaryHeading)
	if !ok {
		return nil, []string{"there is no heading " + glossaryHeading}
	}
	for _, line := range strings.Split(table, "\n") {
		if strings.HasPrefix(line, "## ") {
			break
		}
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		if len(cells) != 6 {
			problems = append(problems, fmt.Sprintf("%q has not four cells", line))
			continue
		}
		where := strings.Split(strings.TrimSpace(cells[3]), ", ")
		for _, w := range where {
			if w != "names" && w != "text" {
				problems = append(problems, fmt.Sprintf("%q is neither names nor text", w))
			}
		}
		var except []string
		for _, m := range quoted.FindAllStringSubmatch(cells[4], -1) {
			except = append(except, m[1])
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			w := refusedWord{word: m[1], instead: strings.TrimSpace(cells[2]), except: except, names: slices.Contains(where, "names")}
			if slices.Contains(where, "text") {
				w.text = regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(m[1]), " ", `\s+`) + `\b`)
			}
			words = append(words, w)
		}
	}
	return words, problems
}

// wordsOf are the words of a name in lower case, each between spaces.
func wordsOf(name string) string {
	var b strings.Builder
	runes := []rune(name)
	b.WriteByte(' ')
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if i > 0 && upper && (!unicode.IsUpper(runes[i-1]) || next) || r == '_' || r == '-' || r == '.' || unicode.IsDigit(r) {
			b.WriteByte(' ')
		}
		if unicode.IsLetter(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	b.WriteByte(' ')
	return strings.Join(strings.Fields(b.String()), " ")
}

// namedAmiss is the refused word in a name; nil: there is none.
func namedAmiss(name string, words []refusedWord) *refusedWord {
	in := " " + wordsOf(name) + " "
	for i, w := range words {
		if w.names && strings.Contains(in, " "+w.word+" ") && !slices.Contains(w.except, name) {
			return &words[i]
		}
	}
	return nil
}

// declaredNames yields the names that a file declares, local ones too.
func declaredNames(file *ast.File, yield func(*ast.Ident)) {
	idents := func(list []ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				yield(id)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			yield(x.Name)
		case *ast.TypeSpec:
			yield(x.Name)
		case *ast.ValueSpec:
			for _, id := range x.Names {
				yield(id)
			}
		case *ast.Field:
			for _, id := range x.Names {
				yield(id)
			}
		case *ast.AssignStmt:
			if x.Tok.String() == ":=" {
				idents(x.Lhs)
			}
		case *ast.RangeStmt:
			if x.Tok.String() == ":=" {
				idents([]ast.Expr{x.Key, x.Value})
			}
		}
		return true
	})
}

// saidAmiss are the refused words in a text, a sentence for each line.
func saidAmiss(text string, words []refusedWord) (problems []string) {
	for i, line := range strings.Split(text, "\n") {
		for _, w := range words {
			if w.text == nil {
				continue
			}
			rest := line
			for _, e := range w.except {
				rest = strings.ReplaceAll(rest, e, "")
			}
			if m := w.text.FindString(rest); m != "" {
				problems = append(problems, fmt.Sprintf("%d: says %q: %s", i+1, m, w.instead))
			}
		}
	}
	return problems
}

var codeSpan = regexp.MustCompile("`[^`\n]*`")

// prose is a document without its code blocks and code spans; lines keep their numbers.
func prose(text string) string {
	lines, fenced := strings.Split(text, "\n"), false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			line = ""
		}
		if lines[i] = codeSpan.ReplaceAllString(line, ""); fenced {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

func glossary(t *testing.T) []refusedWord {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "GLOSSARY.md"))
	assert.NilError(t, err)
	words, problems := refusedWords(string(text))
	for _, p := range problems {
		t.Errorf("docs/GLOSSARY.md: %s", p)
	}
	assert.Assert(t, len(words) > 50, "only %d words: was the table really read?", len(words))
	return words
}

func TestGlossary_NamesAreTermsOfTheField(t *testing.T) {
	words := glossary(t)
	sources, err := allSources()
	assert.NilError(t, err)
	for _, s := range sources {
		if w := namedAmiss(strings.TrimSuffix(path.Base(s.path), ".go"), words); w != nil {
			t.Errorf("%s: the name of the file has %q in it: %s", s.path, w.word, w.instead)
		}
		declaredNames(s.file, func(id *ast.Ident) {
			if w := namedAmiss(id.Name, words); w != nil {
				t.Error(s.problem(id, "%s has %q in it: %s", id.Name, w.word, w.instead))
			}
		})
	}
}

func TestGlossary_CommentsUseTheTermsOfTheField(t *testing.T) {
	words := glossary(t)
	sources, err := allSources()
	assert.NilError(t, err)
	for _, s := range sources {
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				for _, p := range saidAmiss(c.Text, words) {
					_, sentence, _ := strings.Cut(p, ": ")
					t.Error(s.problem(c, "%s", sentence))
				}
			}
		}
	}
}

func TestGlossary_DocumentsUseTheTermsOfTheField(t *testing.T) {
	words := glossary(t)
	names, err := tracked()
	assert.NilError(t, err)
	read := 0
	for _, name := range names {
		if path.Ext(name) != ".md" || name == "docs/GLOSSARY.md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		assert.NilError(t, err)
		read++
		for _, p := range saidAmiss(prose(string(text)), words) {
			t.Errorf("%s:%s", name, p)
		}
	}
	assert.Assert(t, read > 0)
}

func TestGlossary_RefusedWords(t *testing.T) {
	const table = glossaryHeading + "\n\n| Not | But | Where | Except |\n|---|---|---|---|\n" +
		"| `lobby` | pending lookups | names, text | `HotelLobby`, `hotel lobby` |\n| `told at` | preemptedAt | names | |\n| `somebody` | the thing | text | |\n"
	words, problems := refusedWords(table)
	assert.DeepEqual(t, problems, []string(nil))
	assert.Equal(t, len(words), 3)
	for name, want := range map[string]string{
		"lobby": "lobby", "newLobby": "lobby", "lobby_test": "lobby", "LobbyHTTP": "lobby", "lobbyist": "", "HotelLobby": "",
		"toldAt": "told at", "told": "", "untoldAt": "", "Somebody": "",
	} {
		got := ""
		if w := namedAmiss(name, words); w != nil {
			got = w.word
		}
		assert.Equal(t, got, want, name)
	}
	assert.DeepEqual(t, saidAmiss("one\nSomebody in the\nlobby of a hotel lobby\nhotel lobby", words),
		[]string{`2: says "Somebody": the thing`, `3: says "lobby": pending lookups`})
	assert.Equal(t, prose("a `lobby` b\n```\nlobby\n```\nc"), "a  b\n\n\n\nc")

	_, problems = refusedWords(glossaryHeading + "\n| `a` | b | everywhere | |\n| `c` | d |\n")
	assert.DeepEqual(t, problems, []string{`"everywhere" is neither names nor text`, "\"| `c` | d |\" has not four cells"})
}

func TestGlossary_DeclaredNames(t *testing.T) {
	s, err := parse("a.go", "package a\ntype T struct{ f, g int }\nfunc (r T) M(p int) (q int) { x, y := 1, 2; for i, v := range z { _ = http.Get }; var w int; return }\nconst c = 1\n")
	assert.NilError(t, err)
	var got []string
	declaredNames(s.file, func(id *ast.Ident) { got = append(got, id.Name) })
	assert.DeepEqual(t, got, []string{"T", "f", "g", "M", "r", "p", "q", "x", "y", "i", "v", "w", "c"})
}
