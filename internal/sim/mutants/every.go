package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
)

// mutantsOf makes mutants of a file: each condition and each operand of && and || negated, true and
// false; each comparison at its boundary; each assignment and each call that stands alone left out.
func mutantsOf(file string) ([]mutant, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the file to mutate: %w", err)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, 0)
	if err != nil {
		return nil, fmt.Errorf("parse the file to mutate: %w", err)
	}
	m := maker{files: files, source: source, file: filepath.ToSlash(file)}
	ast.Inspect(parsed, m.visit)
	return m.made, nil
}

type maker struct {
	files  *token.FileSet
	source []byte
	file   string
	made   []mutant
}

func (m *maker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		m.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			m.replace(n.Cond, "!("+m.text(n.Cond)+")")
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, clause := range n.Body.List {
				for _, cond := range clause.(*ast.CaseClause).List {
					m.condition(cond)
				}
			}
		}
	case *ast.BinaryExpr:
		m.binary(n)
	case *ast.AssignStmt:
		if n.Tok == token.ASSIGN {
			m.blank(n)
		}
	case *ast.IncDecStmt:
		m.replace(n, "")
	case *ast.ExprStmt:
		m.replace(n, "")
	}
	return true
}

func (m *maker) condition(e ast.Expr) {
	for _, to := range []string{"!(" + m.text(e) + ")", "((" + m.text(e) + ") || true)", "((" + m.text(e) + ") && false)"} {
		m.replace(e, to)
	}
}

func (m *maker) binary(n *ast.BinaryExpr) {
	x, y := m.text(n.X), m.text(n.Y)
	other := map[token.Token]string{
		token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
		token.ADD: "-", token.SUB: "+",
	}[n.Op]
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		m.replace(n, x)
		m.replace(n, y)
	case other != "":
		m.replace(n, x+" "+other+" "+y)
	}
}

// blank leaves an assignment out, one variable at a time, and still uses what it assigned.
func (m *maker) blank(n *ast.AssignStmt) {
	for i, left := range n.Lhs {
		if id, ok := left.(*ast.Ident); ok && id.Name == "_" {
			continue
		}
		text := ""
		for j, l := range n.Lhs {
			if j > 0 {
				text += ", "
			}
			if i == j {
				text += "_"
			} else {
				text += m.text(l)
			}
		}
		text += " = "
		for j, r := range n.Rhs {
			if j > 0 {
				text += ", "
			}
			text += m.text(r)
		}
		m.replace(n, text)
	}
}

func (m *maker) text(n ast.Node) string {
	return string(m.source[m.offset(n.Pos()):m.offset(n.End())])
}

func (m *maker) offset(p token.Pos) int { return m.files.Position(p).Offset }

func (m *maker) replace(n ast.Node, to string) {
	from := m.text(n)
	short := func(s string) string {
		const most = 60
		if len(s) > most {
			s = s[:most] + "..."
		}
		return s
	}
	m.made = append(m.made, mutant{
		name: fmt.Sprintf("%s: %s => %s", m.files.Position(n.Pos()), short(from), short(to)),
		file: m.file, from: from, to: to, at: m.offset(n.Pos()),
	})
}
