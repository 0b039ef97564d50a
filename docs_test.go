package landfall_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
)

// TestLinksInMarkdownResolve: each relative link names a file or folder of the tree, and its anchor a heading there.
func TestLinksInMarkdownResolve(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	for _, page := range sources(t, ".md") {
		for line, text := range prose(t, page) {
			for _, found := range link.FindAllStringSubmatch(text, -1) {
				if strings.Contains(found[1], ":") {
					continue // an address of its own
				}
				target, anchor, _ := strings.Cut(found[1], "#")
				file := page
				if target != "" {
					file = path.Join(path.Dir(page), target)
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s:%d: %s does not exist", page, line+1, file)
				} else if anchor != "" && !headings(t, file)[anchor] {
					t.Errorf("%s:%d: %s has no heading #%s", page, line+1, file, anchor)
				}
			}
		}
	}
}

// TestSourcesThatMarkdownNamesExist: a page that sends its reader to a Go file or a folder of the tree names one that
// is there.
func TestSourcesThatMarkdownNamesExist(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile("`((?:cmd|consumer|functions|infra|internal|test|tools)/[a-z0-9_./-]+)`")
	for _, page := range sources(t, ".md") {
		for line, text := range prose(t, page) {
			for _, found := range name.FindAllStringSubmatch(text, -1) {
				if _, err := os.Stat(found[1]); err != nil {
					t.Errorf("%s:%d: %s does not exist", page, line+1, found[1])
				}
			}
		}
	}
}

// TestPagesThatGoFilesNameExist: a comment or a message that sends its reader to docs/ names a page of the tree.
func TestPagesThatGoFilesNameExist(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\bdocs/[a-z0-9/.-]*\.(?:md|json)`)
	for _, file := range sources(t, ".go") {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range name.FindAllString(string(source), -1) {
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s names %s, which does not exist", file, page)
			}
		}
	}
}

// TestPagesNameWhoActs: a page says "no consumer accepted it", not "nobody took it". Code and stored words such as
// nobody_left do not count.
func TestPagesNameWhoActs(t *testing.T) {
	t.Parallel()
	vague, code := regexp.MustCompile(`(?i)\b(?:nobody|somebody|anybody|shall)\b`), regexp.MustCompile("`[^`]*`")
	for _, page := range sources(t, ".md") {
		for line, text := range prose(t, page) {
			for _, word := range vague.FindAllString(code.ReplaceAllString(text, ""), -1) {
				t.Errorf("%s:%d: %q: name the part or the person that acts", page, line+1, word)
			}
		}
	}
}

// TestRecipesForRemotesAreValid: each yaml block of docs/remotes.md is a complete landfall.yaml that Landfall accepts.
func TestRecipesForRemotesAreValid(t *testing.T) {
	t.Parallel()
	const page = "docs/remotes.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatchIndex(text, -1)
	if recipes := strings.Count(string(text), "\n```yaml"); len(blocks) != recipes || recipes == 0 {
		t.Fatalf("%s: read %d of %d yaml blocks", page, len(blocks), recipes)
	}
	for _, block := range blocks {
		line := strings.Count(string(text[:block[2]]), "\n") + 1
		if _, err := yamlconfig.Parse(fmt.Sprintf("%s, block at line %d", page, line), text[block[2]:block[3]]); err != nil {
			t.Error(err)
		}
	}
}

// sources are the files of the tree whose names end in suffix.
func sources(t *testing.T, suffix string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." {
			switch base := entry.Name(); {
			case base == "node_modules", base == "build", base == "dist", strings.HasPrefix(base, "."):
				return fs.SkipDir
			}
		}
		if strings.HasSuffix(name, suffix) {
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// prose is a page's lines without what is code: blocks between fences become empty lines.
func prose(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	lines, code := strings.Split(string(text), "\n"), false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if code || fence {
			lines[i] = ""
		}
		code = code != fence
	}
	return lines
}

// headings are the anchors of a page, made the way GitHub makes them.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	anchors, seen := map[string]bool{}, map[string]int{}
	linked, dropped := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`), regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	for _, line := range prose(t, page) {
		level := strings.TrimLeft(line, "#")
		if level == line || !strings.HasPrefix(level, " ") {
			continue
		}
		title := linked.ReplaceAllString(strings.TrimSpace(level), "$1")
		anchor := strings.ReplaceAll(strings.ToLower(dropped.ReplaceAllString(title, "")), " ", "-")
		if n := seen[anchor]; n > 0 {
			anchors[fmt.Sprintf("%s-%d", anchor, n)] = true
		} else {
			anchors[anchor] = true
		}
		seen[anchor]++
	}
	return anchors
}
