package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// change is one that is made to a file by rule. The binary has all of them; a number switches one on.
type change struct {
	place, from, to string
}

// changed is a file with all its changes in it.
type changed struct {
	file    string
	source  []byte
	changes []change
}

// changeAll makes every change to a file that the rules know: each condition, and each operand of && and
// ||, negated, true and false; each comparison at its boundary; each assignment, and each call that
// stands alone, left out. Numbers begin at first.
func changeAll(file string, first int) (changed, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return changed{}, fmt.Errorf("read the file to change: %w", err)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, 0)
	if err != nil {
		return changed{}, fmt.Errorf("parse the file to change: %w", err)
	}
	m := maker{files: files, source: source, first: first}
	ast.Inspect(parsed, m.visit)
	out, err := format.Source([]byte(m.rewrite(0, len(source))))
	if err != nil {
		return changed{}, fmt.Errorf("change %s: %w", file, err)
	}
	return changed{file: filepath.ToSlash(file), source: out, changes: m.changes}, nil
}

// switches is the file that is added to a package whose files were changed.
const switches = `package %s

import (
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("MUTANT"))

// mutantBool is the condition, or what one of its changes makes of it.
func mutantBool(first int, was func() bool, others ...func() bool) bool {
	if i := mutantOn - first; i >= 0 && i < len(others) {
		return others[i]()
	}
	return was()
}
`

type maker struct {
	files   *token.FileSet
	source  []byte
	first   int
	changes []change
	edits   []edit
}

// edit puts the text of a place between two others.
type edit struct {
	from, to      int
	before, after string
}

func (m *maker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.IfStmt:
		m.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			m.condition(n.Cond)
		}
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			for _, cond := range clause.(*ast.CaseClause).List {
				if n.Tag == nil {
					m.condition(cond)
				}
			}
		}
	case *ast.BinaryExpr:
		m.binary(n)
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	case *ast.CommClause:
		m.statements(n.Body)
	}
	return true
}

func (m *maker) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.ASSIGN {
				m.assignment(s)
			}
		case *ast.IncDecStmt, *ast.ExprStmt:
			m.leaveOut(s)
		}
	}
}

func (m *maker) condition(e ast.Expr) {
	text := m.text(e)
	m.bool(e, "!("+text+")", "true", "false")
}

func (m *maker) binary(n *ast.BinaryExpr) {
	x, y := m.text(n.X), m.text(n.Y)
	other := map[token.Token]string{
		token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	}[n.Op]
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		m.bool(n, x, y)
	case other != "":
		m.bool(n, x+" "+other+" "+y)
	}
}

// bool adds changes to a condition.
func (m *maker) bool(e ast.Expr, others ...string) {
	if strings.Contains(m.text(e), "recover()") {
		return // it works only where it stands
	}
	before, after := fmt.Sprintf("mutantBool(%d, func() bool { return ", m.next()), " }"
	for _, other := range others {
		after += ", func() bool { return " + other + " }"
		m.note(e, other)
	}
	m.edits = append(m.edits, edit{m.offset(e.Pos()), m.offset(e.End()), before, after + ")"})
}

// leaveOut adds the change that a statement is not there.
func (m *maker) leaveOut(n ast.Node) {
	before := fmt.Sprintf("if mutantOn != %d { ", m.next())
	m.note(n, "(nothing)")
	m.edits = append(m.edits, edit{m.offset(n.Pos()), m.offset(n.End()), before, " }"})
}

// assignment adds the changes that one variable is not assigned.
func (m *maker) assignment(n *ast.AssignStmt) {
	before := ""
	for i, left := range n.Lhs {
		if id, ok := left.(*ast.Ident); ok && id.Name == "_" {
			continue
		}
		names, values := make([]string, len(n.Lhs)), make([]string, len(n.Rhs))
		for j, l := range n.Lhs {
			names[j] = m.text(l)
		}
		for j, r := range n.Rhs {
			values[j] = m.text(r)
		}
		names[i] = "_"
		text := strings.Join(names, ", ") + " = " + strings.Join(values, ", ")
		before += fmt.Sprintf("if mutantOn == %d { %s } else ", m.next(), text)
		m.note(n, text)
	}
	if before != "" {
		m.edits = append(m.edits, edit{m.offset(n.Pos()), m.offset(n.End()), before + "{ ", " }"})
	}
}

func (m *maker) next() int { return m.first + len(m.changes) }

func (m *maker) note(n ast.Node, to string) {
	m.changes = append(m.changes, change{m.files.Position(n.Pos()).String(), short(m.text(n)), short(to)})
}

// rewrite is the source between two offsets with all edits made, inner ones inside of outer ones.
func (m *maker) rewrite(from, to int) string {
	type insertion struct {
		at, order int
		text      string
	}
	var all []insertion
	for i, e := range m.edits { // outer ones come first
		all = append(all, insertion{e.from, i, e.before}, insertion{e.to, -i - 1, e.after})
	}
	slices.SortFunc(all, func(a, b insertion) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.order - b.order
	})
	var out strings.Builder
	for _, in := range all {
		out.Write(m.source[from:in.at])
		out.WriteString(in.text)
		from = in.at
	}
	out.Write(m.source[from:to])
	return out.String()
}

func (m *maker) text(n ast.Node) string {
	return string(m.source[m.offset(n.Pos()):m.offset(n.End())])
}

func (m *maker) offset(p token.Pos) int { return m.files.Position(p).Offset }

func short(s string) string {
	const most = 70
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}
