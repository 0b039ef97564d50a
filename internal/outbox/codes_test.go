package outbox_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// source are the string constants of everything that is deployed, by the type or the package that they belong to.
type source struct {
	// codes are whole codes, prefixes those that end in a dot: a word follows them.
	codes, prefixes map[string]bool
	// words are what may follow a prefix, by the package that declares them.
	words map[string][]string
}

var (
	wholeCode  = regexp.MustCompile(`^landfall(\.[a-z][a-z0-9_]*)+$`)
	codePrefix = regexp.MustCompile(`^landfall(\.[a-z][a-z0-9_]*)+\.$`)
)

// notCodes have the form of a code.
var notCodes = map[string]bool{"landfall.json": true, "landfall.yaml": true, "landfall.dev": true, "landfall.validator.patterns": true}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{codes: map[string]bool{}, prefixes: map[string]bool{}, words: map[string][]string{}}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "lab":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.read(file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *source) read(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			switch {
			case err != nil || notCodes[text]:
			case wholeCode.MatchString(text):
				s.codes[text] = true
			case codePrefix.MatchString(text):
				s.prefixes[text] = true
			}
		case *ast.ValueSpec:
			s.readWords(file.Name.Name, n)
		}
		return true
	})
}

// readWords takes the constants of a type Trouble, and those of package awscall, which are words of the AWS SDK.
func (s *source) readWords(pkg string, spec *ast.ValueSpec) {
	kind, typed := spec.Type.(*ast.Ident)
	for _, value := range spec.Values {
		lit, ok := value.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			continue
		}
		text, _ := strconv.Unquote(lit.Value)
		if typed && kind.Name == "Trouble" {
			s.words[pkg] = append(s.words[pkg], text)
		} else if pkg == "awscall" {
			s.words[pkg] = append(s.words[pkg], snakeCase(text))
		}
	}
}

func snakeCase(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// all are the codes that rows and log lines may have.
func (s *source) all(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for code := range s.codes {
		all[code] = true
	}
	for prefix := range s.prefixes {
		var words []string
		switch prefix {
		case "landfall.http.", "landfall.lookup.http.":
			words = append(append(words, s.words["egress"]...), s.words["secrets"]...)
			words = append(words, "status_NNN")
			if prefix == "landfall.http." {
				words = append(words, "answer_rule_N")
			}
		case "landfall.sqs.", "landfall.group.":
			words = append(append(words, s.words["awscall"]...), "WORD")
			for code := range s.codes {
				if word, ok := strings.CutPrefix(code, "landfall.sqs."); ok {
					words = append(words, word)
				}
			}
		default: // a new kind: any word may follow
			words = append(words, "WORD")
		}
		for _, word := range words {
			all[prefix+word] = true
		}
	}
	return all
}

func TestEveryCodeHasARowInTheRunbook(t *testing.T) {
	t.Parallel()
	s := readSource(t)
	codes := s.all(t)
	if len(codes) < 50 || len(s.words["egress"]) < 5 || len(s.words["secrets"]) < 4 || len(s.words["awscall"]) < 4 {
		t.Fatalf("found only %d codes, words %v", len(codes), s.words)
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, begins := strings.Cut(string(page), "<!-- codes: begin")
	table, _, ends := strings.Cut(table, "<!-- codes: end -->")
	if !begins || !ends {
		t.Fatal("docs/operations.md lacks the markers of the table of codes")
	}
	listed := map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 3 || len(cells[1]) < 10 || len(cells[2]) < 8 {
			t.Errorf("want code, meaning and what to do: %s", line)
		}
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			if listed[code[1]] {
				t.Errorf("%s has two rows", code[1])
			}
			listed[code[1]] = true
		}
	}
	for code := range codes {
		if !listed[code] {
			t.Errorf("docs/operations.md has no row for the code %s: say what it means and what to do", code)
		}
	}
	for code := range listed {
		if !codes[code] {
			t.Errorf("docs/operations.md has a row for %s, which is not in the source", code)
		}
	}
}
