package config

import (
	"github.com/goccy/go-yaml/ast"
)

// mapping gives the pairs of a mapping, of which the parser writes one with a single pair as the bare pair.
func mapping(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func keyText(p *ast.MappingValueNode) string {
	if s, ok := p.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return p.Key.GetToken().Value
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// resolve looks through anchors, aliases and tags. An alias inside its own anchor is followed a few steps only; what is left is no value.
func (b *binder) resolve(n ast.Node) ast.Node {
	for range 8 {
		switch t := n.(type) {
		case *ast.AnchorNode:
			n = t.Value
		case *ast.TagNode:
			n = t.Value
		case *ast.AliasNode:
			n = b.anchors[t.Value.GetToken().Value]
		default:
			return n
		}
	}
	return n
}

type anchorFinder map[string]ast.Node

func (f anchorFinder) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		f[a.Name.GetToken().Value] = a.Value
	}
	return f
}

func anchorsOf(root ast.Node) map[string]ast.Node {
	f := anchorFinder{}
	ast.Walk(f, root)
	return f
}
